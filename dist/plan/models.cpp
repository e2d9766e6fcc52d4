#include "dist/plan/models.h"

#include "dist/plan/request.h"
#include "dist/plan/require.h"

namespace tessera::plan {
namespace {

using nlohmann::json;

struct Heads {
  double heads, kv_heads, head_dim;
};

Model llama(const char* name, double layers, double dim, double ffn_dim, Heads heads, double vocab,
            double context, double published) {
  Model m;
  m.name = name;
  m.layers = layers, m.dim = dim, m.ffn_dim = ffn_dim;
  m.heads = heads.heads, m.kv_heads = heads.kv_heads, m.head_dim = heads.head_dim;
  m.vocab = vocab, m.context = context;
  m.published_parameters = published;
  return m;
}

/// GPT with learned positions, biases and a tied head, of the widths in Narayanan et al. 2021, Table 1
/// (arXiv:2104.04473): vocabulary 51200, 2048 tokens.
Model megatron(const char* name, double layers, double dim, double heads, double published) {
  Model m = llama(name, layers, dim, 4 * dim, {heads, heads, dim / heads}, 51200, 2048, published);
  m.gated = false;
  m.tied = m.bias = m.layer_norm = m.learned_positions = true;
  return m;
}

struct Experts {
  double all, per_token, shared;  // shared ones counted in all of them
};

Model mixture(const char* name, double layers, double dim, double ffn_dim, Experts experts,
              double published) {
  Model m;
  m.name = name;
  m.layers = layers, m.dim = dim, m.ffn_dim = ffn_dim;
  m.experts = experts.all, m.top_k = experts.per_token, m.shared_experts = experts.shared;
  m.published_parameters = published;
  return m;
}

Model gemma_7b() {
  Model m = llama("gemma-7b", 28, 3072, 24576, {16, 16, 256}, 256000, 8192, 8.54e9);
  m.tied = true;
  return m;
}

Model preset(const std::string& name) {
  std::vector<std::string> names;
  for (const Model& known : model_presets()) {
    if (known.name == name) return known;
    names.push_back(known.name);
  }
  require_known("model", name, names);
  return {};
}

bool choose(Request& request, const char* field, const char* no, const char* yes, bool absent) {
  const std::string name = request.word(field, absent ? yes : no);
  require_known(field, name, {no, yes});
  return name == yes;
}

void require_divides(const char* part, double size, const char* whole, double total) {
  require(static_cast<long long>(total) % static_cast<long long>(size) == 0, part, "is ", size,
          ", which does not divide ", whole, " ", total);
}

void check(const Model& m) {
  require(m.layers > 0 && m.dim > 0 && m.ffn_dim > 0, "model", "has layers ", m.layers, ", dim ", m.dim,
          ", ffn_dim ", m.ffn_dim, ", expected all three, or a base");
  require(m.top_k <= m.experts, "top_k", "is ", m.top_k, ", more than the ", m.experts, " experts");
  require(m.shared_experts < m.top_k, "shared_experts", "is ", m.shared_experts,
          ", expected fewer than top_k, which counts them, ", m.top_k);
  if (m.detailed()) require_divides("kv_heads", m.kv_heads, "heads", m.heads);
}

void read_heads(Request& request, Model& m) {
  const bool had_all = m.kv_heads == m.heads;
  m.heads = request.whole_or("heads", m.heads);
  m.kv_heads = request.whole_or("kv_heads", had_all ? m.heads : m.kv_heads);
  const std::optional<double> head_dim = request.whole("head_dim");
  if (!m.detailed()) return;
  if (!head_dim) require_divides("heads", m.heads, "dim", m.dim);
  m.head_dim = head_dim.value_or(m.dim / m.heads);
}

/// Settings of a Tessera configuration that change no cost.
void read_and_forget(Request& request) {
  for (const char* field : {"norm_eps", "rope_base", "init_std"}) request.amount(field, Unit::count, 0);
}

}  // namespace

ParameterCount count_parameters(const Model& m) {
  ParameterCount count;
  if (m.given_parameters > 0) return {.mlp = m.given_parameters};
  count.mlp = m.layers * m.mlp_weights();
  count.attention = m.layers * m.attention_weights();
  if (!m.detailed()) return count;
  const double norm = m.dim * (m.layer_norm ? 2 : 1);
  const double mlp_bias = m.experts * (m.ffn_dim * (m.mlp_matrices() - 1) + m.dim);
  const double attention_bias = m.q_width() + 2 * m.kv_width() + m.dim;
  count.small = m.layers * (2 * norm + (m.bias ? mlp_bias + attention_bias : 0));
  count.embedding = m.vocab * m.dim;
  count.positions = m.learned_positions ? m.context * m.dim : 0;
  count.head = m.tied ? 0 : m.vocab * m.dim;
  count.final_norm = norm;
  return count;
}

// Widths of the mixtures and their published totals: the interactive guide.
const std::vector<Model>& model_presets() {
  static const std::vector<Model> kPresets = {
      llama("llama3-8b", 32, 4096, 14336, {32, 8, 128}, 128256, 8192, 8.03e9),
      llama("llama3-70b", 80, 8192, 28672, {64, 8, 128}, 128256, 8192, 70.6e9),
      llama("llama3-405b", 126, 16384, 53248, {128, 8, 128}, 128256, 8192, 405e9),
      llama("llama2-13b", 40, 5120, 13824, {40, 40, 128}, 32000, 4096, 13.0e9),
      gemma_7b(),
      megatron("gpt3-175b", 96, 12288, 96, 175e9),
      megatron("megatron-1.7b", 24, 2304, 24, 1.7e9),
      megatron("megatron-3.6b", 30, 3072, 32, 3.6e9),
      megatron("megatron-7.5b", 36, 4096, 32, 7.5e9),
      megatron("megatron-18b", 40, 6144, 48, 18.4e9),
      megatron("megatron-22b", 48, 6144, 64, 22e9),
      megatron("megatron-39b", 48, 8192, 64, 39.1e9),
      megatron("megatron-76b", 60, 10240, 80, 76.1e9),
      megatron("megatron-146b", 80, 12288, 96, 145.6e9),
      megatron("megatron-310b", 96, 16384, 128, 310.1e9),
      megatron("megatron-530b", 105, 20480, 128, 529.6e9),
      megatron("megatron-1t", 128, 25600, 160, 1008e9),
      mixture("deepseek-v3", 61, 7168, 2048, {257, 9, 1}, 685e9),
      mixture("glm-5.2", 78, 6144, 2048, {257, 9, 1}, 753e9),
      mixture("deepseek-v4-pro", 61, 7168, 3072, {385, 7, 1}, 1.60e12),
      mixture("qwen3.8-2.4t", 92, 8192, 2048, {513, 11, 1}, 2.45e12),
      mixture("inkling", 66, 6144, 3072, {258, 8, 2}, 952e9),
      mixture("minimax-m3", 60, 6144, 3072, {129, 5, 1}, 427e9),
  };
  return kPresets;
}

Model model_from_json(const json& value) {
  if (value.is_string()) return preset(value.get<std::string>());
  Request request(value, "model");
  const std::string base = request.word("base", "");
  Model m = base.empty() ? Model{} : preset(base);
  m.name = request.word("name", base.empty() ? "custom" : base + ", changed");
  m.layers = request.whole_or("layers", m.layers);
  m.dim = request.whole_or("dim", m.dim);
  m.ffn_dim = request.whole_or("ffn_dim", m.ffn_dim);
  read_heads(request, m);
  m.vocab = request.whole_or("vocab", m.vocab);
  m.context = request.whole_or("context", m.context);
  m.experts = request.whole_or("experts", m.experts);
  m.top_k = request.whole_or("top_k", m.top_k);
  m.shared_experts = request.whole_or("shared_experts", m.shared_experts, 0);
  m.gated = choose(request, "mlp", "gelu", "swiglu", m.gated);
  m.layer_norm = choose(request, "norm", "rms", "layer", m.layer_norm);
  m.learned_positions = choose(request, "position", "rope", "learned", m.learned_positions);
  m.tied = request.flag("tied", m.tied);
  m.bias = request.flag("bias", m.bias);
  m.dropout = request.amount("dropout", Unit::count, m.dropout);
  m.given_parameters = request.number("parameters").value_or(0);
  read_and_forget(request);
  request.done();
  if (!base.empty()) m.published_parameters = 0;
  check(m);
  return m;
}

json to_json(const Model& m) {
  return {{"name", m.name},
          {"layers", m.layers},
          {"dim", m.dim},
          {"ffn_dim", m.ffn_dim},
          {"heads", m.heads},
          {"kv_heads", m.kv_heads},
          {"head_dim", m.head_dim},
          {"vocab", m.vocab},
          {"context", m.context},
          {"experts", m.experts},
          {"top_k", m.top_k},
          {"shared_experts", m.shared_experts},
          {"parameters", count_parameters(m).total()},
          {"published_parameters", m.published_parameters}};
}

}  // namespace tessera::plan
