#pragma once

#include <cmath>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "tensor/shape.h"

namespace tessera::nn {

enum class Norm { layer, rms };
enum class Position { learned, rope };
enum class MlpKind { gelu, swiglu };

/// A decoder-only transformer. GPT-2 and Llama are two settings of it.
struct ModelConfig {
  std::string name = "gpt-nano";
  Index layers = 4, dim = 128, heads = 4, kv_heads = 4, ffn_dim = 512;
  Index context = 128, vocab = 256;
  Norm norm = Norm::layer;
  Position position = Position::learned;
  MlpKind mlp = MlpKind::gelu;
  bool tied = true, bias = true;
  double dropout = 0;
  double norm_eps = 1e-5, rope_base = 10000, init_std = 0.02;

  Index head_dim() const { return dim / heads; }
  /// Of projections whose output joins the residual stream, 2 per layer: so the sum of all starts no larger
  /// than one (Radford et al. 2019, section 2.3).
  double residual_std() const { return init_std / std::sqrt(2 * static_cast<double>(layers)); }
};

/// @throws std::invalid_argument naming the first value that cannot be, and why.
void validate(const ModelConfig& config);

/// Names of the built-in models, which find_model() takes.
std::vector<std::string> preset_names();
/// A preset by name, or a configuration from a JSON file if the name ends in ".json".
/// @throws std::invalid_argument for an unknown name (listing the known), an unreadable file or an unknown or
/// ill-typed key.
ModelConfig find_model(const std::string& name_or_file);

nlohmann::json to_json(const ModelConfig& config);
/// Absent keys are gpt-nano's, but kv_heads follows heads, ffn_dim follows dim (4 dim; for SwiGLU 8/3 dim, up
/// to a multiple of 32), and name is "custom".
/// @throws std::invalid_argument for an unknown key, a wrong type, or what validate() refuses.
ModelConfig config_from_json(const nlohmann::json& json);

const char* to_string(Norm norm);
const char* to_string(Position position);
const char* to_string(MlpKind mlp);
Norm norm_from(const std::string& name);
Position position_from(const std::string& name);
MlpKind mlp_from(const std::string& name);

}  // namespace tessera::nn
