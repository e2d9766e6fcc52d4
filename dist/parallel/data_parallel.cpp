#include "dist/parallel/data_parallel.h"

#include "dist/plan/rounds.h"

namespace tessera::dist {

void data_parallel(PlacementTable& table, const Axis& replicate) {
  for (const nn::ParameterPtr& p : table.parameters()) {
    for (const std::string& axis : replicate.atomic_axes())
      table.declare(p, axis, {.held = Held::replicated, .gradient = Share::partial});
  }
}

nn::Batch data_share(const nn::Dataset& data, const Axis& dp, std::uint64_t seed, Index step,
                     Index batch_size) {
  const plan::Range share = plan::share(batch_size, dp.size(), dp.rank());
  return data.batch(seed, step, batch_size, share.begin, share.size);
}

std::vector<nn::Batch> data_share(const std::vector<nn::Batch>& batches, const Axis& dp) {
  std::vector<nn::Batch> mine;
  for (std::size_t first = 0; first < batches.size(); first += static_cast<std::size_t>(dp.size())) {
    const std::size_t i = first + static_cast<std::size_t>(dp.rank());
    mine.push_back(i < batches.size() ? batches[i] : nn::slice(batches[first], 0, 0));
  }
  return mine;
}

}  // namespace tessera::dist
