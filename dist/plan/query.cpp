#include "dist/plan/query.h"

#include <cmath>
#include <stdexcept>

#include "dist/plan/query_internal.h"
#include "dist/plan/require.h"

namespace tessera::plan {
namespace {

using nlohmann::json;

struct Command {
  const char* name;
  json (*answer)(Request& request);
};

constexpr Command kCommands[] = {
    {"roofline", query_roofline},     {"memory", query_memory}, {"pipeline", query_pipeline},
    {"search", query_search},         {"list", query_list},     {"check", query_check},
    {"collective", query_collective},
};

const Command& find(const std::string& name) {
  std::vector<std::string> known;
  for (const Command& command : kCommands) {
    if (command.name == name) return command;
    known.push_back(command.name);
  }
  require_known("command", name, known);
  return kCommands[0];
}

/// The last guard: inputs are bounded one by one, but their products need not be.
void require_finite(const json& value, const std::string& where) {
  if (value.is_number_float())
    require(std::isfinite(value.get<double>()), "query", where,
            " would be no finite number: some input is too large or too small beside the others");
  if (!value.is_structured()) return;
  for (const auto& [key, inner] : value.items()) require_finite(inner, where + "/" + key);
}

json answer(const json& object) {
  Request request(object, "query");
  const double version = request.whole_or("version", kQueryVersion);
  require(version == kQueryVersion, "version", "got ", version, ", expected ", kQueryVersion);
  const Command& command = find(request.word("command", ""));
  json result = command.answer(request);
  request.done();
  require_finite(result, command.name);
  return {{"version", kQueryVersion}, {"command", command.name}, {"answer", std::move(result)}};
}

}  // namespace

json query(const json& request) noexcept {
  try {
    return answer(request);
  } catch (const std::exception& error) {
    return {{"version", kQueryVersion}, {"error", error.what()}};
  }
}

Model read_model(Request& request) {
  const json& value = request.any("model");
  return model_from_json(value.is_null() ? json("llama3-70b") : value);
}

Hardware read_hardware(Request& request) {
  const json& value = request.any("hardware");
  const Hardware hardware = hardware_from_json(value.is_null() ? json("tpu-v5p") : value);
  return request.choice("derate", {"spec", "measured"}) == "spec" ? hardware : derated(hardware);
}

double read_sequence(Request& request, const Model& model) {
  constexpr double kUsual = 4096;
  return request.whole_or("sequence", model.context > 0 ? model.context : kUsual);
}

double read_batch(Request& request, double sequence) {
  const std::optional<double> tokens = request.number("batch"), sequences = request.whole("sequences");
  require(!tokens || !sequences, "batch", "got ", tokens.value_or(0), " tokens and ", sequences.value_or(0),
          " sequences, expected one of the two");
  return sequences ? *sequences * sequence : tokens.value_or(0);
}

StateBytes read_state(Request& request) { return state_bytes(request.choice("state", state_conventions())); }

ActivationRule read_activations(Request& request) {
  const std::string convention = request.choice("activations", {"korthikanti", "book"});
  return {convention, request.number("saved_widths").value_or(0)};
}

json to_json(const StageMemory& s) {
  return {{"stage", s.stage},         {"parameters", s.parameters}, {"weights", s.weights},
          {"gradients", s.gradients}, {"optimizer", s.optimizer},   {"activations", s.activations},
          {"logits", s.logits},       {"in_flight", s.in_flight},   {"state", s.state()},
          {"total", s.total()}};
}

json layout_json(const Layout& l) {
  return {{"text", to_string(l)},
          {"dp", l.dp},
          {"tp", l.tp},
          {"pp", l.pp},
          {"cp", l.cp},
          {"ep", l.ep},
          {"zero", l.zero},
          {"sequence_parallel", l.sequence_parallel},
          {"microbatches", l.microbatches},
          {"schedule", l.schedule},
          {"virtual_stages", l.virtual_stages},
          {"recompute", to_string(l.recompute)}};
}

json number_or_null(const std::optional<double>& value) { return value ? json(*value) : json(nullptr); }

}  // namespace tessera::plan
