#include "nn/model_file.h"

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>

#include "nn/json_internal.h"
#include "nn/safetensors.h"

namespace tessera::nn {
namespace {

constexpr int kConfigDepth = 2;

std::string file_in(const std::string& directory) {
  return (std::filesystem::path(directory) / "model.safetensors").string();
}

void make_directory(const std::string& directory) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) throw std::runtime_error("[save_model] " + directory + ": cannot create: " + error.message());
}

void check_whole(const Parameter& p) {
  check(p.value.defined() && p.used == Box::whole(p.global_shape), "save_model", p.name, " ", p.global_shape,
        " is not held as a whole here");
}

using Saved = std::map<std::string, Tensor>;

/// The file's tensors and the model's parameters are the same names, each with the parameter's global shape.
void check_matches(const std::string& path, const Saved& saved, const Parameters& parameters) {
  std::set<std::string> names;
  for (const ParameterPtr& p : parameters) {
    check(p->value.defined(), "load_model", p->name, " has no storage yet: materialize() comes first");
    const auto tensor = saved.find(p->name);
    check(tensor != saved.end(), "load_model", path, ": has no tensor ", p->name, ", which the model needs");
    check(tensor->second.shape() == p->global_shape && tensor->second.dtype() != DType::i32, "load_model",
          path, ": ", p->name, " is ", to_string(tensor->second.dtype()), tensor->second.shape(),
          " but the model's is ", p->global_shape);
    names.insert(p->name);
  }
  for (const auto& [name, tensor] : saved) {
    check(names.contains(name), "load_model", path, ": has the tensor ", shown(name), " ", tensor.shape(),
          ", which the model has not");
  }
}

/// Where a strategy keeps what it owns apart from what it computes with, and has released the latter, only
/// what is there is filled.
void fill(const Parameter& p, const Tensor& saved) {
  const Box whole = Box::whole(p.global_shape);
  if (!p.value.storage()->released()) copy_overlap(saved, whole, p.value, p.used);
  if (p.owned_value.storage() != p.value.storage()) copy_overlap(saved, whole, p.owned_value, p.owned);
}

}  // namespace

void save_model(const std::string& directory, const Transformer& model, Index step) {
  SafeTensors contents;
  contents.metadata = {{"config", to_json(model.config()).dump()}, {"step", std::to_string(step)}};
  for (const ParameterPtr& p : model.parameters()) {
    check_whole(*p);
    contents.tensors.emplace_back(p->name, p->value.detach());
  }
  make_directory(directory);
  save_safetensors(file_in(directory), contents);
}

ModelConfig load_config(const std::string& directory) {
  const std::string path = file_in(directory);
  const auto metadata = load_safetensors_metadata(path);
  const auto config = metadata.find("config");
  check(config != metadata.end(), "load_config", path, ": has no metadata named config");
  return config_from_json(
      parse_json("load_config", path + ": metadata config", config->second, 0, kConfigDepth));
}

void load_model(const std::string& directory, const Transformer& model) {
  const std::string path = file_in(directory);
  const SafeTensors contents = load_safetensors(path);
  const Saved saved(contents.tensors.begin(), contents.tensors.end());
  const Parameters parameters = model.parameters();
  check_matches(path, saved, parameters);
  for (const ParameterPtr& p : parameters) fill(*p, saved.at(p->name));
}

}  // namespace tessera::nn
