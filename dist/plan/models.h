#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

/// What the formulas need of a model. Sizes are doubles, so that no product of them overflows.
///
/// A model of which only the widths are known (heads = 0) gets the interactive guide's estimate: 2.5 dim^2
/// parameters of attention per layer, as with few heads of keys and values, and no vocabulary. A mixture of
/// experts counts its shared experts in `experts` and in `top_k`: each token visits them, none is sent there.
namespace tessera::plan {

struct Model {
  std::string name = "custom";
  double layers = 0, dim = 0, ffn_dim = 0;       ///< ffn_dim: of one expert
  double heads = 0, kv_heads = 0, head_dim = 0;  ///< 0: unknown
  double vocab = 0, context = 0;                 ///< 0: unknown
  double experts = 1, top_k = 1, shared_experts = 0;
  bool gated = true;  ///< three matrices in the MLP, not two
  bool tied = false, bias = false, layer_norm = false, learned_positions = false;
  double dropout = 0;
  double given_parameters = 0;      ///< if above 0, so many, whatever the widths come to
  double published_parameters = 0;  ///< 0: unknown

  bool detailed() const { return heads > 0; }
  double q_width() const { return detailed() ? heads * head_dim : dim; }
  double kv_width() const { return detailed() ? kv_heads * head_dim : dim / 4; }
  /// Of one layer: matrices of the MLP, and how much of them a token multiplies with.
  double mlp_matrices() const { return gated ? 3 : 2; }
  double mlp_weights() const { return mlp_matrices() * dim * ffn_dim * experts; }
  double mlp_weights_per_token() const { return mlp_matrices() * dim * ffn_dim * top_k; }
  double attention_weights() const { return dim * (2 * q_width() + 2 * kv_width()); }
};

/// Parameters by part.
struct ParameterCount {
  double mlp = 0, attention = 0, small = 0;  ///< of all layers; small: norms and biases
  double embedding = 0, positions = 0, head = 0, final_norm = 0;

  double blocks() const { return mlp + attention + small; }
  double total() const { return blocks() + embedding + positions + head + final_norm; }
};

/// 3LDF + L(2DNH + 2DKH) + 2VD and the vectors; exact for a Tessera model. Source: scaling book, training.md.
ParameterCount count_parameters(const Model& model);

const std::vector<Model>& model_presets();

/// A preset by name, or an object with the fields of a Tessera model configuration (layers, dim, heads, ...);
/// besides: experts, top_k, shared_experts, head_dim, parameters (as a round number,
/// instead of what the widths come to), and "base", a preset to change. Without heads only the widths count.
/// @throws std::invalid_argument for unknown names and fields, and values that cannot be.
Model model_from_json(const nlohmann::json& name_or_object);

nlohmann::json to_json(const Model& model);

}  // namespace tessera::plan
