#include "examples/memory_check.h"

#include <fmt/format.h>

#include "examples/process.h"
#include "tensor/check.h"

namespace tessera {

int num_states(const nn::OptimizerOptions& options) {
  if (options.kind == nn::OptimizerKind::adamw) return 2;
  return options.momentum != 0 ? 1 : 0;
}

void check_memory(const nn::Transformer& model, const TrainingSize& size) {
  // In double, where no product overflows.
  double parameters = 0;
  for (const nn::ParameterPtr& p : model.parameters())
    parameters += static_cast<double>(p->used.shape.numel());
  const nn::ModelConfig& config = model.config();
  const auto number = static_cast<double>(bytes_of(size.dtype));
  const auto shared = [&](int level) { return size.zero >= level ? 1.0 / size.shard_size : 1.0; };
  const double model_bytes =
      parameters * number * (shared(3) + shared(2) + num_states(size.optimizer) * shared(1));
  const double tokens = static_cast<double>(size.batch) * static_cast<double>(config.context);
  const double logits =
      tokens / static_cast<double>(size.microbatches) * static_cast<double>(config.vocab) * number;
  const double needed = model_bytes + 2 * sizeof(std::int32_t) * tokens + logits;
  const auto there = static_cast<double>(physical_memory_bytes());
  const auto gib = [](double bytes) { return fmt::format("{:.1f} GiB", bytes / (1 << 30)); };
  check(needed <= there, "memory", "training needs more than ", gib(needed), " (", gib(model_bytes),
        " for the model, ", gib(needed - model_bytes), " for a batch of ", size.batch,
        "), expected at most the ", gib(there), " of this machine");
}

}  // namespace tessera
