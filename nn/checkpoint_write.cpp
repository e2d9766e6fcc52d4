#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <stdexcept>

#include "nn/checkpoint.h"
#include "nn/checkpoint_internal.h"
#include "nn/file_internal.h"
#include "nn/safetensors.h"

namespace tessera::nn {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char* kOp = "save_checkpoint";

json boxes_json(const BoxTensors& tensors) {
  const auto list = [](const Shape& shape) {
    return std::vector<Index>(shape.sizes().begin(), shape.sizes().end());
  };
  json boxes = json::object();
  for (const BoxTensor& t : tensors)
    boxes[t.name] = {{kGlobalShape, list(t.global_shape)}, {kOffset, list(t.box.offset)}};
  return boxes;
}

void write_boxes(const std::string& path, const BoxTensors& tensors) {
  SafeTensors contents;
  contents.metadata = {{kBoxes, boxes_json(tensors).dump()}};
  for (const BoxTensor& t : tensors) contents.tensors.emplace_back(t.name, t.data.detach());
  save_safetensors(path, contents);
}

void make_folder(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error)
    throw std::runtime_error(std::string("[") + kOp + "] " + path.string() +
                             ": cannot create: " + error.message());
}

/// Whatever was saved before; a folder that cannot be removed only takes room.
void remove_others(const std::string& directory, const std::string& folder) {
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory, ignored)) {
    const std::string name = entry.path().filename().string();
    if (name != folder && entry.is_directory(ignored) && is_checkpoint_folder(name))
      fs::remove_all(entry.path(), ignored);
  }
}

}  // namespace

bool is_checkpoint_folder(const std::string& name) {
  static const std::regex kPattern("step-[0-9]{1,12}(\\.[0-9]{1,6})?");
  return std::regex_match(name, kPattern);
}

std::string checkpoint_file(const std::string& directory, const std::string& folder, const char* kind,
                            int part) {
  return (fs::path(directory) / folder / (std::string(kind) + "-" + std::to_string(part) + ".safetensors"))
      .string();
}

BoxTensors owned_boxes(const Parameters& parameters) {
  BoxTensors boxes;
  for (const ParameterPtr& p : parameters) {
    check(p->owned_value.defined(), kOp, p->name, " has no storage yet: materialize() comes first");
    boxes.push_back({p->name, p->name, p->global_shape, p->owned, p->owned_value});
  }
  return boxes;
}

BoxTensors state_boxes(const Optimizer& optimizer) {
  BoxTensors boxes;
  for (const Optimizer::State& state : optimizer.states()) {
    const Parameter& p = *state.parameter;
    if (state.first.defined())
      boxes.push_back({kFirst + p.name, p.name, p.global_shape, p.owned, state.first});
    if (state.second.defined())
      boxes.push_back({kSecond + p.name, p.name, p.global_shape, p.owned, state.second});
  }
  return boxes;
}

std::string new_checkpoint_folder(const std::string& directory, Index step) {
  make_folder(directory);
  const std::string base = "step-" + std::to_string(step);
  std::string name = base;
  for (int i = 2; fs::exists(fs::path(directory) / name); ++i) name = base + "." + std::to_string(i);
  make_folder(fs::path(directory) / name);
  return name;
}

void write_checkpoint_part(const std::string& directory, const std::string& folder, int part,
                           const BoxTensors& model, const BoxTensors& optimizer) {
  write_boxes(checkpoint_file(directory, folder, kModelFile, part), model);
  write_boxes(checkpoint_file(directory, folder, kOptimizerFile, part), optimizer);
}

void commit_checkpoint(const std::string& directory, const std::string& folder, int parts,
                       const CheckpointInfo& info) {
  const json manifest = {{"folder", folder},
                         {"parts", parts},
                         {"step", info.step},
                         {"config", to_json(info.config)},
                         {"settings", info.settings}};
  const std::string text = manifest.dump(1) + "\n";
  OutputFile file(kOp, manifest_file(directory));
  file.write(text.data(), static_cast<Index>(text.size()));
  file.commit();
  remove_others(directory, folder);
}

void save_checkpoint(const std::string& directory, const CheckpointInfo& info, const Transformer& model,
                     const Optimizer& optimizer) {
  const std::string folder = new_checkpoint_folder(directory, info.step);
  write_checkpoint_part(directory, folder, 0, owned_boxes(model.parameters()), state_boxes(optimizer));
  commit_checkpoint(directory, folder, 1, info);
}

}  // namespace tessera::nn
