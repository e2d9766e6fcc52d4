#pragma once

#include "dist/plan/rounds.h"

namespace tessera::plan {

/// No rank ends before every rank has begun. Runs on a buffer of one element, whose value means nothing.
///
/// ceil(log2(ranks)) messages of one element sent and received per rank, in as many rounds: in round r a rank
/// tells rank + 2^r that it and the 2^r - 1 ranks before it have begun. Nobody needs the sum, but receives
/// add so that each message depends on all earlier ones: an executor that runs ahead (rounds.h) cannot send
/// it too soon.
/// @throws std::invalid_argument unless 0 <= rank < ranks.
/// Source: Hensgen, Finkel & Manber 1988, doi:10.1007/BF01379320.
Rounds dissemination_barrier(int rank, int ranks);
Traffic dissemination_barrier_traffic(int ranks);

}  // namespace tessera::plan
