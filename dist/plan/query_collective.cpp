#include <algorithm>
#include <cmath>

#include "dist/plan/collective_cost.h"
#include "dist/plan/query_internal.h"
#include "dist/plan/require.h"

namespace tessera::plan {
namespace {

using nlohmann::json;

json cost_json(const CollectiveCost& c, const std::string& op, double bytes, double ranks) {
  json result = {{"algorithm", c.algorithm},     {"seconds", c.seconds}, {"latency_s", c.latency_s},
                 {"bandwidth_s", c.bandwidth_s}, {"algbw", nullptr},     {"busbw", nullptr}};
  if (c.seconds > 0) {
    result["algbw"] = bytes / c.seconds;
    result["busbw"] = bytes / c.seconds * busbw_factor(op, ranks, c.algorithm == "in_network");
  }
  return result;
}

json levels_json(const std::vector<SwitchLevel>& levels) {
  json result = json::array();
  for (const SwitchLevel& level : levels)
    result.push_back({{"level", level.name},
                      {"degree", level.degree},
                      {"unit_bandwidth", level.unit_bandwidth},
                      {"collective_bandwidth", level.collective_bandwidth()}});
  return result;
}

/// A tree of switches of one's own: [{"degree", "unit_bandwidth"}, ...], innermost first.
std::vector<SwitchLevel> read_levels(const json& list) {
  require(list.is_array() && !list.empty() && list.size() <= 16, "levels", "got ", shown(list),
          ", expected a list of 1 to 16 objects");
  std::vector<SwitchLevel> levels;
  for (const json& object : list) {
    Request level(object, "levels");
    levels.push_back({level.word("level", "level " + std::to_string(levels.size() + 1)),
                      level.whole("degree", 2).value_or(2),
                      level.required("unit_bandwidth", Unit::bytes_per_s)});
    level.done();
  }
  return levels;
}

std::string verdict(const CollectiveCost& c, double bytes) {
  const std::string time = quantity_text(c.seconds, Unit::seconds);
  if (c.seconds == 0) return "One rank: nothing is sent.";
  if (c.latency_s < c.bandwidth_s)
    return "Bandwidth-bound: " + time + " by " + c.algorithm + ", " +
           quantity_text(bytes / c.seconds, Unit::bytes_per_s) + " of the array.";
  return "Latency-bound: " + time + " by " + c.algorithm + "; up to " +
         quantity_text(c.bandwidth_s > 0 ? bytes * c.latency_s / c.bandwidth_s : bytes, Unit::bytes) +
         " would take about as long.";
}

json send_json(Request& request, const Hardware& h, double bytes) {
  const CollectiveCost c = send_cost(h, bytes, request.whole_or("hops", 1), request.whole_or("ports", 1));
  return {{"hardware", to_json(h)},
          {"op", "send"},
          {"bytes", bytes},
          {"costs", json::array({cost_json(c, "send", bytes, 2)})},
          {"verdict", verdict(c, bytes)}};
}

}  // namespace

json query_collective(Request& request) {
  const Hardware h = read_hardware(request);
  const std::string op =
      request.choice("op", {"all_reduce", "reduce_scatter", "all_gather", "all_to_all", "broadcast", "reduce",
                            "gather", "scatter", "barrier", "send"});
  const double bytes = request.number("bytes", Unit::bytes, 64 * 0x1p20);
  if (op == "send") return send_json(request, h, bytes);
  const double ranks = request.whole_or("ranks", 8), stride = request.whole_or("stride", 1);
  const DeviceGroup group = {ranks, stride, request.whole_or("ring_axes", 1)};
  require(group.ring_axes <= h.axes, "ring_axes", "got ", group.ring_axes, ", but ", h.name, " has ", h.axes);
  const json& own_levels = request.any("levels");

  const std::vector<CollectiveCost> costs = collective_costs(h, op, group, bytes);
  json costs_json = json::array();
  for (const CollectiveCost& c : costs) costs_json.push_back(cost_json(c, op, bytes, ranks));
  const std::vector<SwitchLevel> levels =
      own_levels.is_null()
          ? (h.fabric == Fabric::switched ? switch_levels(h, ranks) : std::vector<SwitchLevel>{})
          : read_levels(own_levels);
  json result = {{"hardware", to_json(h)},
                 {"op", op},
                 {"ranks", ranks},
                 {"bytes", bytes},
                 {"costs", costs_json},
                 {"levels", levels_json(levels)},
                 {"levels_bandwidth", nullptr},
                 {"latency_bound_below_bytes_per_hop", h.latency_s * h.one_way_link()},
                 {"busbw_factor", ranks > 1 ? json(busbw_factor(op, ranks)) : json(nullptr)},
                 {"verdict", verdict(costs.front(), bytes)}};
  if (!levels.empty())
    result["levels_bandwidth"] =
        std::ranges::min_element(levels, {}, &SwitchLevel::collective_bandwidth)->collective_bandwidth();
  return result;
}

}  // namespace tessera::plan
