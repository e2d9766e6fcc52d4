#pragma once

#include <vector>

#include "dist/plan/rounds.h"

/// Every rank sends to the next one and receives from the one before. Once round the ring takes ranks - 1
/// rounds in which all links are busy: nothing sends fewer bytes, but latency grows with ranks. Indices are
/// modulo ranks.
namespace tessera::plan {

/// Sum of all ranks' buffers, scattered: rank i ends with parts[i] summed; its other parts hold partial sums.
///
/// ranks - 1 rounds of one message, none for an empty part; a rank sends every part but parts[rank], and
/// receives every part but parts[rank - 1]. Part i is summed in ring order from rank i + 1 to rank i,
/// whatever the sizes of the parts.
/// @throws std::invalid_argument for a rank without a part, or parts that overlap.
/// Source: Patarasuk & Yuan 2009, doi:10.1016/j.jpdc.2008.09.002.
Rounds ring_reduce_scatter(int rank, const std::vector<Range>& parts);
Traffic ring_reduce_scatter_traffic(int rank, const std::vector<Range>& parts);

/// Copies parts[i] from rank i to all ranks; elements in no part stay as they are.
///
/// ranks - 1 rounds of one message, none for an empty part; a rank sends every part but parts[rank + 1], and
/// receives every part but parts[rank]. A round lasts as long as its largest part: if one rank has
/// everything, prefer a broadcast.
/// @throws std::invalid_argument for a rank without a part, or parts that overlap.
/// Source: Patarasuk & Yuan 2009, doi:10.1016/j.jpdc.2008.09.002.
Rounds ring_all_gather(int rank, const std::vector<Range>& parts);
Traffic ring_all_gather_traffic(int rank, const std::vector<Range>& parts);

/// Sum of all ranks' buffers, on all ranks: reduce-scatter, then all-gather, of even shares.
///
/// 2(ranks-1) messages, 2 count (ranks-1)/ranks elements sent per rank, which no algorithm beats; exactly, 2
/// count less the shares of `rank` and `rank` + 1 sent, of `rank` - 1 and `rank` received. Prefer it for
/// large counts, and recursive doubling, with fewer rounds, for small ones. Each share is summed once, in
/// ring order, then copied: bit-identical on all ranks.
/// @throws std::invalid_argument unless 0 <= rank < ranks and count >= 0.
/// Source: Patarasuk & Yuan 2009, doi:10.1016/j.jpdc.2008.09.002.
Rounds ring_all_reduce(int rank, int ranks, Index count);
Traffic ring_all_reduce_traffic(int rank, int ranks, Index count);

/// Copies the root's buffer to all ranks: a binomial scatter of even shares, then the all-gather.
///
/// About count elements sent and received per rank, 2 count (ranks-1)/ranks by the root, where a tree's root
/// sends count log2(ranks). Prefer it for large counts on many ranks.
/// @throws std::invalid_argument unless 0 <= rank, root < ranks and count >= 0.
/// Source: Thakur, Rabenseifner & Gropp 2005, doi:10.1177/1094342005051521.
Rounds ring_broadcast(int rank, int ranks, int root, Index count);
Traffic ring_broadcast_traffic(int rank, int ranks, int root, Index count);

/// Sum of all ranks' buffers, on the root: the reduce-scatter, then a binomial gather. The broadcast's costs,
/// of the root and in all.
/// @throws std::invalid_argument unless 0 <= rank, root < ranks and count >= 0.
Rounds ring_reduce(int rank, int ranks, int root, Index count);
Traffic ring_reduce_traffic(int rank, int ranks, int root, Index count);

}  // namespace tessera::plan
