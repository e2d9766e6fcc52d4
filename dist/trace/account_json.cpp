#include "dist/trace/account_json.h"

#include <nlohmann/json.hpp>

namespace tessera::dist {
namespace {

using nlohmann::json;

json steps_json(const std::vector<StepAccount>& steps) {
  json j = {{"step", json::array()}, {"begin_s", json::array()}};
  for (const auto& [name, part] : kStepParts) j[name] = json::array();
  for (const StepAccount& step : steps) {
    j["step"].push_back(step.step);
    j["begin_s"].push_back(step.begin_s);
    for (const auto& [name, part] : kStepParts) j[name].push_back(step.parts.*part);
  }
  return j;
}

std::vector<StepAccount> steps_from(const json& j) {
  std::vector<StepAccount> steps(j.at("step").size());
  for (std::size_t i = 0; i < steps.size(); ++i) {
    steps[i].step = j.at("step").at(i);
    steps[i].begin_s = j.at("begin_s").at(i);
    for (const auto& [name, part] : kStepParts) steps[i].parts.*part = j.at(name).at(i);
  }
  return steps;
}

const char* category_name(std::size_t i) { return to_string(static_cast<Category>(i)); }

}  // namespace

void to_json(json& j, const StepParts& parts) {
  for (const auto& [name, part] : kStepParts) j[name] = parts.*part;
}

void from_json(const json& j, StepParts& parts) {
  for (const auto& [name, part] : kStepParts) parts.*part = j.at(name);
}

void to_json(json& j, const CommAccount& a) {
  j = {{"op", a.op},
       {"axis", a.axis},
       {"purpose", a.purpose},
       {"algorithm", a.algorithm},
       {"ranks", a.ranks},
       {"calls", a.calls},
       {"messages", a.messages},
       {"bytes", a.bytes},
       {"buffer_bytes", a.buffer_bytes},
       {"seconds", a.seconds},
       {"algbw", a.algbw()},
       {"busbw", a.busbw()},
       {"predicted_s", a.predicted_s}};
}

void from_json(const json& j, CommAccount& a) {
  a = {j.at("op"),           j.at("axis"),    j.at("purpose"),    j.at("algorithm"),
       j.at("ranks"),        j.at("calls"),   j.at("messages"),   j.at("bytes"),
       j.at("buffer_bytes"), j.at("seconds"), j.at("predicted_s")};
}

void to_json(json& j, const RankAccount& a) {
  j = {{"rank", a.rank},
       {"node", a.node},
       {"coords", json::object()},
       {"formula_bytes", json::object()},
       {"peak_rss_bytes", a.peak_rss_bytes},
       {"parameters", a.parameters},
       {"events_per_step", a.events_per_step},
       {"event_cost_s", a.event_cost_s},
       {"clock_error_s", a.clock_error_s},
       {"mean", a.mean()},
       {"steps", steps_json(a.steps)},
       {"comm", a.comm}};
  for (const auto& [axis, coordinate] : a.coords) j["coords"][axis] = coordinate;
  for (std::size_t i = 0; i < a.memory.size(); ++i) {
    const MemoryAccount& memory = a.memory[i];
    j["current_bytes"][category_name(i)] = memory.current;
    j["peak_bytes"][category_name(i)] = memory.peak;
    if (memory.formula >= 0) j["formula_bytes"][category_name(i)] = memory.formula;
  }
}

void from_json(const json& j, RankAccount& a) {
  a = {};
  a.rank = j.at("rank");
  a.node = j.at("node");
  for (const auto& [axis, coordinate] : j.at("coords").items()) a.coords.emplace_back(axis, coordinate);
  a.steps = steps_from(j.at("steps"));
  a.comm = j.at("comm").get<std::vector<CommAccount>>();
  for (std::size_t i = 0; i < a.memory.size(); ++i) {
    const double formula = j.at("formula_bytes").value(category_name(i), -1.0);
    a.memory[i] = {j.at("current_bytes").at(category_name(i)), j.at("peak_bytes").at(category_name(i)),
                   formula};
  }
  a.peak_rss_bytes = j.at("peak_rss_bytes");
  a.parameters = j.at("parameters");
  a.events_per_step = j.at("events_per_step");
  a.event_cost_s = j.at("event_cost_s");
  a.clock_error_s = j.at("clock_error_s");
}

}  // namespace tessera::dist
