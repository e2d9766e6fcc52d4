#pragma once

#include <vector>

#include "dist/plan/rounds.h"

/// ranks - 1 rounds; in round s every rank sends to the one s after it and receives from the one s before, so
/// every element takes the one way it has to, and nobody waits for two.
namespace tessera::plan {

/// sends[j] of rank i becomes receives[i] of rank j, which has the same size; the two may differ between
/// pairs. All are ranges of one buffer that do not overlap.
///
/// At most ranks - 1 messages, none for an empty range; sends and receives all but the rank's own, which is
/// copied. No algorithm moves fewer bytes. Prefer it for all but small blocks.
/// @throws std::invalid_argument for a rank without ranges, another number of one than of the other, ranges
/// that overlap, or own ones of different sizes.
/// Source: Thakur, Rabenseifner & Gropp 2005, doi:10.1177/1094342005051521.
Rounds pairwise_all_to_all(int rank, const std::vector<Range>& sends, const std::vector<Range>& receives);
Traffic pairwise_all_to_all_traffic(int rank, const std::vector<Range>& sends,
                                    const std::vector<Range>& receives);

/// Sum of all ranks' buffers, scattered: rank i ends with parts[i] summed; its other parts stay as they are.
///
/// ranks - 1 messages: sends every part but its own, and receives its own from everyone. A part is summed in
/// the order rank, rank - 1, ..., rank + 1 (modulo ranks). Sends what a ring sends, but no message waits for
/// another: prefer it where many messages may be under way at once.
/// @throws std::invalid_argument for a rank without a part, or parts that overlap.
/// Source: Thakur, Rabenseifner & Gropp 2005, doi:10.1177/1094342005051521.
Rounds pairwise_reduce_scatter(int rank, const std::vector<Range>& parts);
Traffic pairwise_reduce_scatter_traffic(int rank, const std::vector<Range>& parts);

}  // namespace tessera::plan
