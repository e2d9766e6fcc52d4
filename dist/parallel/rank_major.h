#pragma once

#include <vector>

#include "dist/comm/buffer.h"

namespace tessera::dist {

/// The rows of `rows` that rank i of `ranks` owns: as even as it goes, none if there are fewer rows than
/// ranks.
plan::Range row_share(Index rows, int ranks, int i);

/// Tensors whose rows are shared out over ranks, as one buffer in which each rank's rows lie together: rank
/// 0's rows of every tensor, then rank 1's, ... So one reduce_scatter or all_gather serves all of them, and
/// long runs of rows travel straight from and to where they are.
struct RankMajor {
  Buffer buffer;
  std::vector<plan::Range> parts;  ///< of the buffer, one per rank; some may be empty
};
RankMajor rank_major(const std::vector<Tensor>& tensors, int ranks);

}  // namespace tessera::dist
