#include "dist/parallel/rank_major.h"

namespace tessera::dist {

plan::Range row_share(Index rows, int ranks, int i) { return plan::share(rows, ranks, i); }

RankMajor rank_major(const std::vector<Tensor>& tensors, int ranks) {
  std::vector<Tensor> slices;
  std::vector<plan::Range> parts;
  Index count = 0;
  for (int rank = 0; rank < ranks; ++rank) {
    const Index begin = count;
    for (const Tensor& tensor : tensors) {
      const plan::Range rows = row_share(tensor.dim(0), ranks, rank);
      slices.push_back(tensor.slice(rows.begin, rows.end()));
      count += slices.back().numel();
    }
    parts.push_back({begin, count - begin});
  }
  return {Buffer(std::move(slices)), std::move(parts)};
}

}  // namespace tessera::dist
