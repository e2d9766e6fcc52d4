#pragma once

#include "dist/comm/comm.h"
#include "examples/cli.h"

namespace tessera {

/// Times every collective by every algorithm, and MPI's own, over sizes from 8 bytes to 64 MiB; fits the
/// prices that `automatic` goes by; prints tables and writes --json, which --network reads. Collective.
void bench_collectives(const CollectiveBenchOptions& options, const dist::Comm& world);

}  // namespace tessera
