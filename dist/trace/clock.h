#pragma once

#include "dist/comm/comm.h"

namespace tessera::dist {

/// What to add to this rank's times for those of rank 0, and how far off that may be.
struct ClockOffset {
  double offset_s = 0, error_s = 0;
};

/// Compares clocks. Collective over `world`.
///
/// The ranks of a node have one clock. The first rank of each node but rank 0's asks rank 0 for its time, a
/// few times one after the other, and takes the answer that came fastest to be from half-way: 8 messages of
/// one f64 each way per node, then an all_gather of two f64 per rank. Source: Cristian 1989,
/// doi:10.1007/BF01784024.
ClockOffset compare_clocks(const Comm& world);

}  // namespace tessera::dist
