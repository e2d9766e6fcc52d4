#pragma once

#include <span>

#include "dist/comm/comm.h"

namespace tessera::dist {

/// MPI's own collectives, to measure ours against; nothing else uses them. mpi blocks, and spins meanwhile;
/// mpi_nonblocking is the I-call, waited for in our progress loop.
enum class Yardstick { mpi, mpi_nonblocking };
const char* to_string(Yardstick yardstick);

/// Runs a collective on even shares of `x`, from rank 0 where it has a root, as ours works on them: in place;
/// of all_to_all `x` is half blocks to send, half blocks to receive. But a reduce_scatter's result is at the
/// front. Collective.
/// @throws std::invalid_argument for point_to_point, or an all_to_all of blocks that are not equal.
void run_yardstick(Yardstick yardstick, const Comm& comm, Kind kind, std::span<float> x);

}  // namespace tessera::dist
