#include "examples/plan_request.h"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "dist/plan/hardware.h"
#include "dist/plan/models.h"
#include "examples/this_machine.h"
#include "tensor/check.h"

namespace tessera {
namespace {

using nlohmann::json;

constexpr std::size_t kMostBytes = 64 << 20;
constexpr int kMostDepth = 32;

bool is_file(const std::string& name) { return name.ends_with(".json"); }

/// What only the planner knows of a model; any other object is a configuration of ours.
bool is_planner_model(const json& object) {
  constexpr const char* kOwn[] = {"base", "experts", "top_k", "shared_experts", "head_dim", "parameters"};
  return std::ranges::any_of(kOwn, [&](const char* key) { return object.contains(key); });
}

json model_json(const std::string& name) {
  if (is_file(name)) {
    json object = read_json_file("--model", name);
    if (is_planner_model(object)) return object;
  } else {
    for (const plan::Model& preset : plan::model_presets())
      if (preset.name == name) return name;
    const std::vector<std::string> ours = nn::preset_names();
    if (std::ranges::find(ours, name) == ours.end()) return name;  // the planner says what there is
  }
  return nn::to_json(nn::find_model(name));
}

json hardware_json(const PlanOptions& options) {
  if (options.hardware == "this-machine") return this_machine(options.network);
  if (is_file(options.hardware)) return read_json_file("--hardware", options.hardware);
  return options.hardware;
}

}  // namespace

json read_json_file(const char* flag, const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  check(file.good(), flag, path, ": cannot be opened");
  std::string text, piece(1 << 16, '\0');
  while (file.read(piece.data(), std::ssize(piece)) || file.gcount() > 0) {
    text.append(piece, 0, static_cast<std::size_t>(file.gcount()));
    check(text.size() <= kMostBytes, flag, path, ": is longer than ", kMostBytes, " bytes");
  }
  check(!file.bad(), flag, path, ": cannot be read");
  const auto limit_depth = [&](int depth, json::parse_event_t, json&) {
    check(depth <= kMostDepth, flag, path, ": is nested deeper than ", kMostDepth);
    return true;
  };
  try {
    return json::parse(text, limit_depth);
  } catch (const json::parse_error& error) {
    check(false, flag, path, ": is no JSON, byte ", error.byte);
    return {};
  }
}

json plan_request(const PlanOptions& options) {
  if (options.command == "query") return read_json_file("--request", options.request);
  json request = {{"command", options.command}};
  for (const auto& [field, value] : options.texts)
    if (!value.empty()) request[field] = value;
  for (const std::string& field : options.switches) request[field] = true;
  if (!options.model.empty()) request["model"] = model_json(options.model);
  if (!options.hardware.empty()) request["hardware"] = hardware_json(options);
  if (!options.run.empty()) request["run"] = read_json_file("--run", options.run);
  if (options.command == "check" && !options.network.empty())
    request.update(network_constants(options.network));
  return request;
}

}  // namespace tessera
