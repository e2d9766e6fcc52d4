#include <algorithm>

#include "dist/plan/pipeline.h"
#include "dist/plan/query_internal.h"
#include "dist/plan/require.h"
#include "dist/plan/simulate.h"

namespace tessera::plan {
namespace {

using nlohmann::json;

constexpr std::size_t kMostDrawn = 5000;  // actions that a chart still shows apart

const char* letter(Pass pass) {
  switch (pass) {
    case Pass::forward:
      return "F";
    case Pass::backward_weight:
      return "W";
    default:
      return "B";
  }
}

json timeline_json(const PipelineRun& run) {
  json ranks = json::array();
  std::size_t actions = 0;
  for (const auto& rank : run.by_rank) actions += rank.size();
  if (actions > kMostDrawn) return nullptr;
  for (const auto& rank : run.by_rank) {
    json row = json::array();
    for (const TimedAction& t : rank)
      row.push_back({{"pass", letter(t.action.pass)},
                     {"chunk", t.action.chunk},
                     {"microbatch", t.action.microbatch},
                     {"begin_s", t.begin_s},
                     {"end_s", t.end_s}});
    ranks.push_back(row);
  }
  return ranks;
}

std::string verdict(const PipelineRun& run, const std::string& name, double p, double m) {
  const auto percent = [](double part) { return quantity_text(100 * part, Unit::count) + " %"; };
  std::string text = name + " leaves " + percent(run.bubble_of_total()) + " of the time idle (" +
                     percent(run.bubble_over_ideal()) +
                     " of the busy time); the first rank holds the activations of " +
                     quantity_text(run.peak_in_flight.front(), Unit::count) + " microbatches at most.";
  constexpr double kSmall = 0.1;
  if (run.bubble_over_ideal() > kSmall && p > 1)
    text += " With " + quantity_text(std::max(m + 1, 10 * (p - 1)), Unit::count) +
            " microbatches 1f1b would be idle for a tenth of the busy time.";
  return text;
}

}  // namespace

json query_pipeline(Request& request) {
  const double p = request.whole_or("pp", 4), m = request.whole_or("microbatches", 8);
  const double v = request.whole_or("virtual_stages", 1);
  const std::string name = request.choice("schedule", pipeline_schedule_names());
  const PassTimes times = {.forward = request.number("forward_s", Unit::seconds, 1),
                           .backward_input = request.number("backward_input_s", Unit::seconds, 1),
                           .backward_weight = request.amount("backward_weight_s", Unit::seconds, 1),
                           .hop = request.amount("hop_s", Unit::seconds, 0)};
  require(p * m * v <= 1e6, "microbatches", "got ", p, " ranks with ", m, " microbatches, expected fewer");
  const PipelineSchedule schedule =
      pipeline_schedule(name, static_cast<int>(p), static_cast<int>(m), static_cast<int>(v));
  const PipelineRun run = simulate(schedule, times);
  return {{"schedule", name},
          {"pp", p},
          {"microbatches", m},
          {"virtual_stages", v},
          {"makespan_s", run.makespan_s},
          {"ideal_s", run.ideal_s},
          {"bubble_s", run.bubble_s()},
          {"bubble_over_ideal", run.bubble_over_ideal()},
          {"bubble_of_total", run.bubble_of_total()},
          {"internal_bubble_s", run.internal_bubble_s},
          {"formula_bubble_over_ideal", bubble_over_ideal(name, p, m, v, times)},
          {"peak_in_flight", run.peak_in_flight},
          {"messages_per_microbatch", 2 * (p * v - 1)},
          {"timeline", timeline_json(run)},
          {"verdict", verdict(run, name, p, m)}};
}

}  // namespace tessera::plan
