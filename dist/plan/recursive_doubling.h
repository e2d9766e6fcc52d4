#pragma once

#include "dist/plan/rounds.h"

namespace tessera::plan {

/// Sum of all ranks' buffers, on all ranks, by exchanging all of it with partners 1, 2, 4, ... ranks away.
///
/// With P the largest power of two <= ranks: log2(P) messages of `count` elements sent and received per rank.
/// If ranks > P, the first 2 (ranks - P) ranks pair up: the odd one adds its buffer to the even one's in a
/// first round, sits out, and gets the result in a last one; 1 message each way for it, log2(P) + 1 for its
/// partner.
///
/// Prefer it for small counts. On 2 ranks it sends what a ring sends in half the rounds, but adds count
/// elements instead of count / 2; on more a ring sends less, 2 count (ranks-1)/ranks instead of count
/// log2(P).
///
/// Bit-identical on all ranks, by induction over rounds: if all ranks of block A hold the bits a and all of
/// its neighbour B the bits b, then A computes a + b and B computes b + a, and these are the same bits,
/// because floating-point addition is commutative, if not associative (only a NaN's payload may differ). So
/// the merged block agrees, in the end all P ranks do, and the odd ones get copies.
/// @throws std::invalid_argument unless 0 <= rank < ranks and count >= 0.
/// Source: Thakur, Rabenseifner & Gropp 2005, doi:10.1177/1094342005051521.
Rounds recursive_doubling_all_reduce(int rank, int ranks, Index count);
Traffic recursive_doubling_all_reduce_traffic(int rank, int ranks, Index count);

}  // namespace tessera::plan
