#pragma once

#include <functional>

#include "dist/comm/comm.h"

namespace tessera::dist {

/// Runs `body` on all ranks, between MPI's begin and end; returns what main should. Once per process. Without
/// a launcher there is one rank.
///
///  - body returns on all ranks: the largest of its results, on every rank.
///  - body throws std::invalid_argument on all ranks (a parse error, a layout that cannot be): rank 0 prints
///    what(), and every rank returns 2. A rank whose reason is not rank 0's prints it, too.
///  - body throws something else on some rank, or std::invalid_argument where others do not within 3 s: that
///    rank prints "rank 2: what()", and the whole job ends at once, with status 1.
///  - a launcher of another MPI than the one this was built against: one message, and 2.
///  - the first SIGINT or SIGTERM makes interrupted() true, however long the body takes to ask. The second
///  ends
///    the process at once.
///
/// Work under way is finished first, with or without a handle. MPI is called from this thread alone; body may
/// have others. No Comm may outlive this call.
int launch(int argc, char** argv, const std::function<int(Comm& world)>& body);

/// Whether SIGINT or SIGTERM has reached this rank. It reaches ranks at different times, so to stop together
/// first agree: max(world, interrupted()).
bool interrupted();

}  // namespace tessera::dist
