#pragma once

#include "nn/config.h"
#include "nn/module.h"

namespace tessera::nn {

/// y = x w^T + b.
class Linear : public Module {
 public:
  /// Parameters name.weight [outputs, inputs] and, if `bias`, name.bias [outputs].
  Linear(const std::string& name, Index inputs, Index outputs, bool bias, double init_std);
  Tensor forward(const Tensor& x) override;
  void collect(Parameters& into) const override;
  std::string type() const override { return "Linear"; }

  ParameterPtr weight, bias;  ///< bias may be null
};

/// Layer norm or RMS norm over the last dim, with name.weight [dim] and, for layer norm, name.bias [dim].
class NormLayer : public Module {
 public:
  NormLayer(const std::string& name, const ModelConfig& config);
  Tensor forward(const Tensor& x) override;
  void collect(Parameters& into) const override;
  std::string type() const override { return bias ? "LayerNorm" : "RmsNorm"; }

  ParameterPtr weight, bias;  ///< bias is null for RMS norm
  double eps;
};

/// Rows of weight [vocab, dim] for tokens i32 [B, T].
class Embedding : public Module {
 public:
  Embedding(const std::string& name, Index vocab, Index dim, double init_std);
  Tensor forward(const Tensor& tokens) override;
  void collect(Parameters& into) const override;
  std::string type() const override { return "Embedding"; }

  ParameterPtr weight;
};

/// down(gelu(up(x))), or down(silu(gate(x)) * up(x)).
class Mlp : public Module {
 public:
  Mlp(const std::string& name, const ModelConfig& config);
  Tensor forward(const Tensor& x) override;
  void collect(Parameters& into) const override;
  std::string type() const override { return gate ? "SwigluMlp" : "GeluMlp"; }

  Layer gate, up, down;  ///< gate is null for GELU
  bool discard_activation =
      false;  ///< selective recompute: the activation's output is computed again in backward
};

}  // namespace tessera::nn
