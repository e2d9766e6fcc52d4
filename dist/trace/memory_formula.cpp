#include "dist/trace/memory_formula.h"

namespace tessera::dist {
namespace {

double real(Index i) { return static_cast<double>(i); }

double parameters(const TrainingShape& s) {
  return s.zero < 3 ? real(s.used) : real(s.owned + s.ends + 2 * s.block);
}

double gradients(const TrainingShape& s) {
  if (s.zero < 2) return real(s.used);
  return real(s.zero == 2 ? s.owned + 2 * s.bucket : s.owned + s.ends + 2 * s.block);
}

/// Of all blocks; of the block that backward begins with, all there is of it without recompute; of the
/// embedding's output, the last norm's, and the logits.
double activations(const nn::ModelConfig& c, const TrainingShape& s) {
  const double whole = saved_per_token(c, nn::Recompute::none), kept = saved_per_token(c, s.recompute);
  return real(s.tokens) * (real(c.layers) * kept + (whole - kept) + real(2 * c.dim + c.vocab));
}

}  // namespace

double saved_per_token(const nn::ModelConfig& c, nn::Recompute recompute) {
  if (recompute == nn::Recompute::full) return real(c.dim);
  const Index q_width = c.heads * c.head_dim(), kv_width = c.kv_heads * c.head_dim();
  const Index into_activation = c.mlp == nn::MlpKind::swiglu ? 2 : 1,
              per_row = c.norm == nn::Norm::layer ? 2 : 1;
  const Index kept =
      2 * c.dim + 2 * q_width + 2 * kv_width + c.heads + into_activation * c.ffn_dim + 2 * per_row;
  const Index made_again = 2 * c.dim + c.ffn_dim;
  return real(recompute == nn::Recompute::selective ? kept : kept + made_again);
}

std::array<double, kNumCategories> memory_formula(const nn::ModelConfig& config, const TrainingShape& shape) {
  std::array<double, kNumCategories> bytes;
  bytes.fill(-1);
  const double number = real(bytes_of(shape.dtype));
  const auto at = [&](Category category) -> double& { return bytes[static_cast<std::size_t>(category)]; };
  at(Category::parameter) = number * parameters(shape);
  at(Category::gradient) = number * gradients(shape);
  at(Category::optimizer) = number * shape.optimizer_states * real(shape.owned);
  if (shape.bucket > 0 && shape.zero < 3)
    at(Category::communication) = number * real(shape.bucket) * (shape.zero == 2 ? 1 : 2);
  at(Category::activation) = number * activations(config, shape);
  return bytes;
}

}  // namespace tessera::dist
