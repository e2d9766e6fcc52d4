#include "nn/layers.h"

#include "tensor/autograd.h"
#include "tensor/ops.h"

namespace tessera::nn {
namespace {

constexpr Recipe kZeros = {0, 0}, kOnes = {1, 0};

}  // namespace

Linear::Linear(const std::string& name, Index inputs, Index outputs, bool with_bias, double init_std)
    : weight(std::make_shared<Parameter>(name + ".weight", Shape{outputs, inputs}, Recipe{0, init_std})) {
  if (with_bias) bias = std::make_shared<Parameter>(name + ".bias", Shape{outputs}, kZeros);
}

Tensor Linear::forward(const Tensor& x) { return linear(x, weight->value, bias ? bias->value : Tensor()); }

void Linear::collect(Parameters& into) const {
  into.push_back(weight);
  if (bias) into.push_back(bias);
}

NormLayer::NormLayer(const std::string& name, const ModelConfig& config)
    : weight(std::make_shared<Parameter>(name + ".weight", Shape{config.dim}, kOnes)), eps(config.norm_eps) {
  if (config.norm == Norm::layer)
    bias = std::make_shared<Parameter>(name + ".bias", Shape{config.dim}, kZeros);
}

Tensor NormLayer::forward(const Tensor& x) {
  return bias ? layer_norm(x, weight->value, bias->value, eps) : rms_norm(x, weight->value, eps);
}

void NormLayer::collect(Parameters& into) const {
  into.push_back(weight);
  if (bias) into.push_back(bias);
}

Embedding::Embedding(const std::string& name, Index vocab, Index dim, double init_std)
    : weight(std::make_shared<Parameter>(name + ".weight", Shape{vocab, dim}, Recipe{0, init_std})) {}

Tensor Embedding::forward(const Tensor& tokens) { return embedding(tokens, weight->value); }

void Embedding::collect(Parameters& into) const { into.push_back(weight); }

Mlp::Mlp(const std::string& name, const ModelConfig& config) {
  const auto layer = [&](const char* part, Index inputs, Index outputs, double std) {
    return std::make_unique<Linear>(name + part, inputs, outputs, config.bias, std);
  };
  if (config.mlp == MlpKind::swiglu) gate = layer(".gate", config.dim, config.ffn_dim, config.init_std);
  up = layer(".up", config.dim, config.ffn_dim, config.init_std);
  down = layer(".down", config.ffn_dim, config.dim, config.residual_std());
}

Tensor Mlp::forward(const Tensor& x) {
  const Tensor activation = gate ? swiglu(gate->forward(x), up->forward(x)) : gelu(up->forward(x));
  Tensor y = down->forward(activation);
  if (discard_activation) discard(activation);
  return y;
}

void Mlp::collect(Parameters& into) const {
  if (gate) gate->collect(into);
  up->collect(into);
  down->collect(into);
}

}  // namespace tessera::nn
