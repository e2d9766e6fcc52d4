#pragma once

#include <bit>

#include "dist/plan/rounds.h"

namespace tessera::plan {

/// How an algorithm for a power of two of ranks runs on any number: as many as that are active, each of the
/// others is passive, the odd one of the first `extra` pairs. A passive rank hands its data to the even one
/// first, and gets its result from it last.
struct Fold {
  int active, extra;

  explicit Fold(int ranks)
      : active(static_cast<int>(std::bit_floor(static_cast<unsigned>(ranks)))), extra(ranks - active) {}

  bool paired(int rank) const { return rank < 2 * extra; }
  bool passive(int rank) const { return paired(rank) && rank % 2 == 1; }
  /// Number of a rank, or its partner's, among the active ones.
  int index(int rank) const { return paired(rank) ? rank / 2 : rank - extra; }
  /// The active rank of a number; its partner, if it has one, is the next rank. Of `active`: all ranks.
  int rank(int index) const { return index < extra ? 2 * index : index + extra; }
  /// Exchanges with partners at 1, 2, 4, ...: log2(active).
  int num_exchanges() const { return std::countr_zero(static_cast<unsigned>(active)); }
};

/// The active ranks' rounds between a first one, in which passive ranks give their partners `given`, and a
/// last one, in which they get `taken`. Both ranges are those of the rank's pair.
Rounds fold_around(const Fold& fold, int rank, Rounds exchanges, const Range& given, Combine combine,
                   const Range& taken);

}  // namespace tessera::plan
