#include "nn/config.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "nn/file_internal.h"
#include "nn/json_internal.h"
#include "nn/names.h"

namespace tessera::nn {
namespace {

using nlohmann::json;

constexpr const char* kOp = "config";
constexpr Index kMaxSize = std::numeric_limits<std::int32_t>::max();  // tokens and BLAS sizes are 32-bit
constexpr Index kMaxLayers = 10000;  // a file may not make us build blocks until memory ends
constexpr Index kMaxFileBytes = 1'000'000;
constexpr int kMaxDepth = 2;

constexpr Named<Norm> kNorms[] = {{"layer", Norm::layer}, {"rms", Norm::rms}};
constexpr Named<Position> kPositions[] = {{"learned", Position::learned}, {"rope", Position::rope}};
constexpr Named<MlpKind> kMlps[] = {{"gelu", MlpKind::gelu}, {"swiglu", MlpKind::swiglu}};

/// Calls visit(key, field) for every field: what JSON and its reader know of the structure.
template <class Config, class Visit>
void for_each_field(Config& c, Visit&& visit) {
  visit("name", c.name);
  visit("layers", c.layers);
  visit("dim", c.dim);
  visit("heads", c.heads);
  visit("kv_heads", c.kv_heads);
  visit("ffn_dim", c.ffn_dim);
  visit("context", c.context);
  visit("vocab", c.vocab);
  visit("norm", c.norm);
  visit("position", c.position);
  visit("mlp", c.mlp);
  visit("tied", c.tied);
  visit("bias", c.bias);
  visit("dropout", c.dropout);
  visit("norm_eps", c.norm_eps);
  visit("rope_base", c.rope_base);
  visit("init_std", c.init_std);
}

std::string listed(const auto& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

/// Sets a field from a JSON value of its type.
struct Reader {
  const char* key;
  const json& value;

  void expect(bool ok, const char* what) const {
    check(ok, kOp, key, " is ", shown(value), ", expected ", what);
  }
  std::string text() const {
    expect(value.is_string(), "a string");
    return value.get<std::string>();
  }
  void operator()(std::string& field) const { field = text(); }
  void operator()(Norm& field) const { field = norm_from(text()); }
  void operator()(Position& field) const { field = position_from(text()); }
  void operator()(MlpKind& field) const { field = mlp_from(text()); }
  void operator()(Index& field) const {
    expect(is_index(value), "an integer from 1 on");
    field = value.get<Index>();
  }
  void operator()(bool& field) const {
    expect(value.is_boolean(), "true or false");
    field = value.get<bool>();
  }
  void operator()(double& field) const {
    expect(value.is_number(), "a number");
    field = value.get<double>();
  }
};

void check_keys(const json& object) {
  check(object.is_object(), kOp, "the configuration is ", shown(object), ", expected an object");
  const ModelConfig defaults;
  std::set<std::string> keys;
  for_each_field(defaults, [&](const char* key, const auto&) { keys.insert(key); });
  for (const auto& [key, value] : object.items()) {
    check(keys.contains(key), kOp, "unknown key ", shown(key), ", expected one of ", listed(keys));
  }
}

ModelConfig read_file(const std::string& path) {
  InputFile file(kOp, path);
  check(file.bytes() <= kMaxFileBytes, kOp, path, ": is ", file.bytes(), " bytes long, expected at most ",
        kMaxFileBytes);
  std::string text(static_cast<std::size_t>(file.bytes()), '\0');
  file.read(text.data(), file.bytes());
  const json object = parse_json(kOp, path, text, 0, kMaxDepth);
  try {
    return config_from_json(object);
  } catch (const std::invalid_argument& error) {
    const std::string prefix = std::string("[") + kOp + "] ", what = error.what();
    throw std::invalid_argument(prefix + path + ": " +
                                (what.starts_with(prefix) ? what.substr(prefix.size()) : what));
  }
}

void check_size(const char* key, Index size, Index most = kMaxSize) {
  check(size >= 1 && size <= most, kOp, key, " is ", size, ", expected 1 to ", most);
}
void check_divides(const char* part, Index size, const char* whole, Index total) {
  check(total % size == 0, kOp, part, " is ", size, ", which does not divide ", whole, " ", total);
}

/// Two thirds of GELU's width for SwiGLU, whose three matrices then have as many elements as GELU's two; in
/// whole vectors.
Index usual_ffn_dim(MlpKind mlp, Index dim) {
  return mlp == MlpKind::gelu ? 4 * dim : (8 * dim + 95) / 96 * 32;
}

ModelConfig gpt(const char* name, Index layers, Index dim, Index heads, Index context, Index vocab = 256) {
  ModelConfig config;
  config.name = name;
  config.layers = layers;
  config.dim = dim;
  config.heads = config.kv_heads = heads;
  config.ffn_dim = usual_ffn_dim(config.mlp, dim);
  config.context = context;
  config.vocab = vocab;
  return config;
}

/// Of the same size, in the manner of Touvron et al. 2023, arXiv:2302.13971 and arXiv:2307.09288.
ModelConfig llama(ModelConfig config, const char* name, Index kv_heads) {
  config.name = name;
  config.kv_heads = kv_heads;
  config.norm = Norm::rms;
  config.position = Position::rope;
  config.mlp = MlpKind::swiglu;
  config.tied = config.bias = false;
  config.ffn_dim = usual_ffn_dim(config.mlp, config.dim);
  return config;
}

/// Zhang et al. 2024, arXiv:2401.02385: TinyLlama, 1.1 B.
ModelConfig llama_1b() {
  ModelConfig config = llama(gpt("", 22, 2048, 32, 2048, 32000), "llama-1b", 4);
  config.ffn_dim = 5632;
  return config;
}

/// For verification: odd sizes, that seldom divide by numbers of ranks, and everything that can go wrong.
ModelConfig odd(ModelConfig config) {
  config.kv_heads = 2;
  config.ffn_dim = 33;
  config.dropout = 0.1;
  return config;
}

std::vector<ModelConfig> presets() {
  const ModelConfig nano, mini = gpt("gpt-mini", 6, 384, 6, 256);
  const ModelConfig tiny = odd(gpt("gpt-tiny", 5, 16, 4, 8, 37));
  return {tiny,
          odd(llama(tiny, "llama-tiny", 2)),
          gpt("gpt-pico", 2, 32, 4, 32),
          nano,
          llama(nano, "llama-nano", 2),
          mini,
          llama(mini, "llama-mini", 2),
          gpt("gpt2", 12, 768, 12, 1024, 50257),
          llama_1b()};
}

}  // namespace

void validate(const ModelConfig& c) {
  check_size("layers", c.layers, kMaxLayers);
  check_size("dim", c.dim);
  check_size("heads", c.heads);
  check_size("kv_heads", c.kv_heads);
  check_size("ffn_dim", c.ffn_dim);
  check_size("context", c.context);
  check_size("vocab", c.vocab);
  check_divides("heads", c.heads, "dim", c.dim);
  check_divides("kv_heads", c.kv_heads, "heads", c.heads);
  check(c.position != Position::rope || c.head_dim() % 2 == 0, kOp, "dim / heads is ", c.head_dim(),
        ", expected an even number: rope turns pairs");
  check(c.dropout >= 0 && c.dropout < 1, kOp, "dropout is ", c.dropout, ", not in [0, 1)");
  check(std::isfinite(c.norm_eps) && c.norm_eps > 0, kOp, "norm_eps is ", c.norm_eps,
        ", expected more than 0");
  check(std::isfinite(c.rope_base) && c.rope_base > 0, kOp, "rope_base is ", c.rope_base,
        ", expected more than 0");
  check(std::isfinite(c.init_std) && c.init_std >= 0, kOp, "init_std is ", c.init_std,
        ", expected 0 or more");
}

std::vector<std::string> preset_names() {
  std::vector<std::string> names;
  for (const ModelConfig& config : presets()) names.push_back(config.name);
  return names;
}

ModelConfig find_model(const std::string& name_or_file) {
  if (name_or_file.ends_with(".json")) return read_file(name_or_file);
  for (const ModelConfig& config : presets()) {
    if (config.name == name_or_file) return config;
  }
  check(false, kOp, "no model ", shown(name_or_file), ", expected a file that ends in .json, or one of ",
        listed(preset_names()));
  return {};
}

json to_json(const ModelConfig& config) {
  json object;
  for_each_field(config, [&]<class Value>(const char* key, const Value& field) {
    if constexpr (std::is_enum_v<Value>) {
      object[key] = to_string(field);
    } else {
      object[key] = field;
    }
  });
  return object;
}

ModelConfig config_from_json(const json& object) {
  check_keys(object);
  ModelConfig config;
  config.name = "custom";
  for_each_field(config, [&](const char* key, auto& field) {
    if (object.contains(key)) Reader{key, object[key]}(field);
  });
  if (!object.contains("kv_heads")) config.kv_heads = config.heads;
  if (!object.contains("ffn_dim")) config.ffn_dim = usual_ffn_dim(config.mlp, std::min(config.dim, kMaxSize));
  validate(config);
  return config;
}

const char* to_string(Norm norm) { return name_of(kNorms, norm); }
const char* to_string(Position position) { return name_of(kPositions, position); }
const char* to_string(MlpKind mlp) { return name_of(kMlps, mlp); }
Norm norm_from(const std::string& name) { return value_of("norm", kNorms, name); }
Position position_from(const std::string& name) { return value_of("position", kPositions, name); }
MlpKind mlp_from(const std::string& name) { return value_of("mlp", kMlps, name); }

}  // namespace tessera::nn
