#include <algorithm>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>

#include "nn/checkpoint.h"
#include "nn/checkpoint_internal.h"
#include "nn/file_internal.h"
#include "nn/json_internal.h"
#include "nn/safetensors.h"

namespace tessera::nn {
namespace {

using nlohmann::json;

constexpr const char* kOp = "checkpoint";
constexpr Index kMaxManifestBytes = 1 << 20;
constexpr int kManifestDepth = 3, kBoxesDepth = 3;
constexpr Index kMaxParts = 1 << 20;
constexpr Index kMaxStep = std::numeric_limits<std::int32_t>::max();

json read_manifest(const std::string& path) {
  InputFile file(kOp, path);
  check(file.bytes() <= kMaxManifestBytes, kOp, path, ": is ", file.bytes(), " bytes long, expected at most ",
        kMaxManifestBytes);
  std::string text(static_cast<std::size_t>(file.bytes()), '\0');
  file.read(text.data(), file.bytes());
  const json manifest = parse_json(kOp, path, text, 0, kManifestDepth);
  check(manifest.is_object(), kOp, path, ": is ", shown(manifest), ", expected an object");
  for (const char* key : {"folder", "parts", "step", "config", "settings"})
    check(manifest.contains(key), kOp, path, ": has no ", key);
  return manifest;
}

Index index_from(const std::string& path, const json& manifest, const char* key, Index least, Index most) {
  const json& value = manifest[key];
  check(is_index(value) && value.get<Index>() >= least && value.get<Index>() <= most, kOp, path, ": ", key,
        " is ", shown(value), ", expected a whole number from ", least, " to ", most);
  return value.get<Index>();
}

/// One of our own names, so it leads nowhere else.
std::string folder_from(const std::string& path, const json& value) {
  const bool good = value.is_string() && is_checkpoint_folder(value.get<std::string>());
  check(good, kOp, path, ": folder is ", shown(value), ", expected step-N");
  return value.get<std::string>();
}

std::map<std::string, std::string> settings_from(const std::string& path, const json& value) {
  const bool good =
      value.is_object() && std::ranges::all_of(value, [](const json& v) { return v.is_string(); });
  check(good, kOp, path, ": settings are ", shown(value), ", expected an object of strings");
  return value.get<std::map<std::string, std::string>>();
}

Shape shape_from(const std::string& where, const json& boxes, const std::string& name, const char* key,
                 int num_dims) {
  const bool known = boxes.contains(name) && boxes[name].is_object() && boxes[name].contains(key);
  check(known, kOp, where, "its metadata has no ", key, " of it");
  const json& list = boxes[name][key];
  const bool good =
      list.is_array() && static_cast<int>(list.size()) == num_dims && std::ranges::all_of(list, is_index);
  check(good, kOp, where, key, " is ", shown(list), ", expected ", num_dims, " whole numbers");
  return Shape(std::span<const Index>(list.get<std::vector<Index>>()));
}

/// A box that a file holds.
struct SavedBox {
  std::string name;
  Shape global_shape;
  Box box;
};

/// The boxes of one file, by their header.
std::vector<SavedBox> boxes_of(const std::string& path) {
  const SafeTensorsHeader header = load_safetensors_header(path);
  const auto text = header.metadata.find(kBoxes);
  check(text != header.metadata.end(), kOp, path, ": has no metadata named ", kBoxes);
  const json boxes = parse_json(kOp, path + ": metadata " + kBoxes, text->second, 0, kBoxesDepth);
  check(boxes.is_object(), kOp, path, ": metadata ", kBoxes, " is ", shown(boxes), ", expected an object");
  std::vector<SavedBox> saved;
  for (const TensorInfo& tensor : header.tensors) {
    const std::string where = path + ": tensor " + shown(tensor.name) + ": ";
    check(tensor.dtype != DType::i32, kOp, where, "is i32, expected f32 or f64");
    const int num_dims = tensor.shape.num_dims();
    const Shape global = shape_from(where, boxes, tensor.name, kGlobalShape, num_dims);
    const Shape offset = shape_from(where, boxes, tensor.name, kOffset, num_dims);
    for (int i = 0; i < num_dims; ++i)
      check(tensor.shape[i] <= global[i] && offset[i] <= global[i] - tensor.shape[i], kOp, where, "its box ",
            to_string(Box{offset, tensor.shape}), " is no part of ", global);
    saved.push_back({tensor.name, global, {offset, tensor.shape}});
  }
  return saved;
}

using Boxes = std::map<std::string, std::vector<Box>>;

/// Boxes that do not overlap and have as many elements as the whole are the whole.
void check_tiles(const std::string& where, const Shape& global, const std::vector<Box>& boxes) {
  Index count = 0;
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    count += boxes[i].shape.numel();
    for (std::size_t j = 0; j < i; ++j)
      check(intersect(boxes[i], boxes[j]).shape.numel() == 0, kOp, where,
            "two boxes overlap: ", to_string(boxes[j]), " and ", to_string(boxes[i]));
  }
  check(count == global.numel(), kOp, where, "its boxes have ", count, " elements, expected the ",
        global.numel(), " of ", global);
}

}  // namespace

std::string manifest_file(const std::string& directory) {
  return (std::filesystem::path(directory) / "checkpoint.json").string();
}

Checkpoint::Checkpoint(const std::string& directory) : directory_(directory) {
  const std::string path = manifest_file(directory);
  const json manifest = read_manifest(path);
  folder_ = folder_from(path, manifest["folder"]);
  parts_ = static_cast<int>(index_from(path, manifest, "parts", 1, kMaxParts));
  info_ = {config_from_json(manifest["config"]), index_from(path, manifest, "step", 0, kMaxStep),
           settings_from(path, manifest["settings"])};
}

// All headers are checked before any data is read, so that an error leaves the targets as they were; data
// that does not arrive in spite of that (a file that changes meanwhile) is an error, too.
void Checkpoint::fill(const char* kind, const BoxTensors& targets) const {
  std::map<std::string, Shape> wanted;
  for (const BoxTensor& target : targets) wanted.insert({target.name, target.global_shape});
  const std::string where = (std::filesystem::path(directory_) / folder_ / kind).string() + "-*: ";
  Boxes boxes;
  std::vector<std::vector<SavedBox>> files;
  for (int part = 0; part < parts_; ++part) {
    const std::string path = checkpoint_file(directory_, folder_, kind, part);
    files.push_back(boxes_of(path));
    for (const SavedBox& saved : files.back()) {
      const auto target = wanted.find(saved.name);
      check(target != wanted.end(), kOp, path, ": has the tensor ", shown(saved.name), " ",
            saved.global_shape, ", which is not wanted here");
      check(target->second == saved.global_shape, kOp, path, ": ", saved.name, " is ", saved.global_shape,
            " but here it is ", target->second);
      if (saved.box.shape.numel() > 0) boxes[saved.name].push_back(saved.box);
    }
  }
  for (const auto& [name, global] : wanted) check_tiles(where + name + ": ", global, boxes[name]);

  for (int part = 0; part < parts_; ++part) {
    const std::vector<SavedBox>& saved = files[static_cast<std::size_t>(part)];
    const auto overlap = [](const SavedBox& box, const BoxTensor& target) {
      return box.name == target.name && intersect(box.box, target.box).shape.numel() > 0;
    };
    const auto box_named = [&](const std::string& name) {
      return *std::ranges::find(saved, name, &SavedBox::name);
    };
    visit_safetensors(
        checkpoint_file(directory_, folder_, kind, part),
        [&](const std::string& name) {
          const SavedBox box = box_named(name);
          return std::ranges::any_of(targets, [&](const BoxTensor& target) { return overlap(box, target); });
        },
        [&](const std::string& name, const Tensor& data) {
          const SavedBox box = box_named(name);
          for (const BoxTensor& target : targets)
            if (overlap(box, target)) copy_overlap(data, box.box, target.data, target.box);
        });
  }
}

void Checkpoint::load(const Parameters& parameters) const {
  BoxTensors targets;
  for (const ParameterPtr& p : parameters) {
    check(p->value.defined(), kOp, p->name, " has no storage yet: materialize() comes first");
    if (!p->value.storage()->released())
      targets.push_back({p->name, p->name, p->global_shape, p->used, p->value});
    if (p->owned_value.storage() != p->value.storage())
      targets.push_back({p->name, p->name, p->global_shape, p->owned, p->owned_value});
  }
  fill(kModelFile, targets);
}

void Checkpoint::load(Optimizer& optimizer) const {
  optimizer.start_at(info_.step);
  fill(kOptimizerFile, state_boxes(optimizer));
}

}  // namespace tessera::nn
