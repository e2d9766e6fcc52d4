#pragma once

#include <vector>

#include "dist/plan/rounds.h"

namespace tessera::plan {

/// Checks the rounds of all ranks, in rank order, on a buffer of `count` elements against the meaning given
/// in rounds.h: as many rounds on each rank, peers and ranges that exist, received ranges that do not depend
/// on the order of arrival, and every message sent received in the same round with the same size.
/// @throws std::invalid_argument with the round, the ranks and the ranges of the first fault.
void validate(const std::vector<Rounds>& by_rank, Index count);

}  // namespace tessera::plan
