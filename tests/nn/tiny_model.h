#pragma once

// The model that tests share: small enough for f64 and finite differences, no size a power of two or a
// multiple of a register.

#include "nn/config.h"

namespace tessera::testing {

/// Odd sizes on purpose: vocab 37, ffn 33, 5 positions, 3 heads over 1 (Llama) or 3 (GPT-2).
inline nn::ModelConfig tiny_model(bool llama, double dropout = 0) {
  return {.name = "tiny",
          .layers = 2,
          .dim = 12,
          .heads = 3,
          .kv_heads = llama ? 1 : 3,
          .ffn_dim = 33,
          .context = 5,
          .vocab = 37,
          .norm = llama ? nn::Norm::rms : nn::Norm::layer,
          .position = llama ? nn::Position::rope : nn::Position::learned,
          .mlp = llama ? nn::MlpKind::swiglu : nn::MlpKind::gelu,
          .tied = !llama,
          .bias = !llama,
          .dropout = dropout};
}

}  // namespace tessera::testing
