#include "nn/batch.h"

#include <algorithm>
#include <numeric>

namespace tessera::nn {
namespace {

Tensor count_up(Index count) {
  Tensor numbers({count}, DType::i32);
  std::iota(numbers.data<std::int32_t>(), numbers.data<std::int32_t>() + count, 0);
  return numbers;
}

}  // namespace

Index Batch::num_targets() const {
  return std::ranges::count_if(targets.span<std::int32_t>(), [](std::int32_t target) { return target >= 0; });
}

Batch make_batch(const std::vector<std::int32_t>& tokens, const std::vector<std::int32_t>& targets,
                 Index num_positions) {
  const auto size = static_cast<Index>(tokens.size());
  check(tokens.size() == targets.size() && num_positions > 0 && size % num_positions == 0, "make_batch",
        tokens.size(), " tokens and ", targets.size(), " targets for sequences of ", num_positions);
  const Shape shape = {size / num_positions, num_positions};
  return {.tokens = Tensor::from(shape, tokens),
          .targets = Tensor::from(shape, targets),
          .sequences = count_up(shape[0]),
          .positions = count_up(num_positions),
          .num_positions = num_positions};
}

Batch slice(const Batch& batch, Index begin, Index end) {
  return {.tokens = batch.tokens.slice(begin, end),
          .targets = batch.targets.slice(begin, end),
          .sequences = batch.sequences.slice(begin, end),
          .positions = batch.positions,
          .num_positions = batch.num_positions};
}

std::vector<Batch> split(const Batch& batch, Index count) {
  check(count > 0, "split", "a batch into ", count, " microbatches");
  const Index size = batch.num_sequences() / count, larger = batch.num_sequences() % count;
  const auto begin = [&](Index i) { return i * size + std::min(i, larger); };
  std::vector<Batch> parts;
  for (Index i = 0; i < count; ++i) parts.push_back(slice(batch, begin(i), begin(i + 1)));
  return parts;
}

}  // namespace tessera::nn
