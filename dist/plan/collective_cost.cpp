#include "dist/plan/collective_cost.h"

#include <algorithm>
#include <cmath>

#include "dist/plan/request.h"
#include "dist/plan/require.h"

namespace tessera::plan {
namespace {

/// How often the whole array passes a device's link, for a large group, and over n devices.
struct Share {
  double asymptote, exact;
};

Share share_of(const std::string& op, double n) {
  const double others = (n - 1) / n;
  if (op == "all_gather" || op == "reduce_scatter") return {1, others};
  if (op == "all_reduce") return {2, 2 * others};
  if (op == "all_to_all") return {1 / n, others / n};
  if (op == "broadcast" || op == "reduce") return {1, 1};
  require_known("op", op,
                {"all_reduce", "reduce_scatter", "all_gather", "all_to_all", "broadcast", "reduce"});
  return {};
}

CollectiveCost whichever_is_longer(const char* name, double latency_s, double bandwidth_s) {
  return {name, std::max(latency_s, bandwidth_s), latency_s, bandwidth_s};
}

CollectiveCost one_after_the_other(const std::string& name, double latency_s, double bandwidth_s) {
  return {name, latency_s + bandwidth_s, latency_s, bandwidth_s};
}

/// Beyond a pod the network is a switch, whatever the pod is.
bool leaves_domain(const Hardware& h, const DeviceGroup& group) {
  return group.size * group.stride > h.domain;
}

std::vector<CollectiveCost> torus_costs(const Hardware& h, const std::string& op, const DeviceGroup& group,
                                        double bytes) {
  const double n = group.size, length = std::pow(n, 1 / group.ring_axes);  // of one axis
  // A ring has each device's data go half way round each way, once, or twice for a sum that comes back.
  const double passes = op == "all_reduce" ? 2 : 1;
  const double share = op == "all_to_all" ? 0.25 : share_of(op, n).asymptote;
  const double width = group_bandwidth(h, n, group.stride, group.ring_axes);
  const double hops = group.ring_axes * length / 2, line_hops = group.ring_axes * (length - 1);
  const CollectiveCost ring = whichever_is_longer("ring", passes * hops * h.latency_s, share * bytes / width);
  const CollectiveCost line = whichever_is_longer("line", passes * line_hops * h.latency_s,
                                                  2 * share * bytes * (length - 1) / length / width);
  const bool closes = std::fmod(std::round(length), h.wrap) == 0;
  return closes ? std::vector{ring, line} : std::vector{line, ring};
}

std::vector<CollectiveCost> switched_costs(const Hardware& h, const std::string& op, const DeviceGroup& group,
                                           double bytes) {
  const auto [asymptote, exact] = share_of(op, group.size);
  const double width = group_bandwidth(h, group.size, group.stride, 1);
  const double latency = leaves_domain(h, group) ? h.scale_out_latency_s : h.latency_s;
  std::vector<CollectiveCost> costs = {one_after_the_other("exact", latency, exact * bytes / width),
                                       one_after_the_other("asymptote", 0, asymptote * bytes / width)};
  if (op == "all_reduce") costs.push_back(one_after_the_other("in_network", latency, bytes / width));
  return costs;
}

std::vector<CollectiveCost> message_costs(const Hardware& h, const std::string& op, const DeviceGroup& group,
                                          double bytes) {
  const double width = group_bandwidth(h, group.size, group.stride, 1);
  const double latency = leaves_domain(h, group) ? h.scale_out_latency_s : h.latency_s;
  const LinkPrice link = {latency, 1 / width, latency};
  constexpr double kMostRanks = 65536;  // whose blocks are quickly counted
  require(group.size <= kMostRanks, "ranks", "got ", group.size, ", expected at most ", kMostRanks,
          " where messages are counted");
  const Kind kind = parse_kind(op);
  const double array = kind == Kind::all_to_all ? bytes / group.size : bytes;
  std::vector<CollectiveCost> costs;
  for (const Algorithm algorithm : priced_algorithms(kind)) {
    const Path path = path_of(kind, algorithm, static_cast<int>(group.size));
    costs.push_back(one_after_the_other(to_string(algorithm), path.seconds(0, link),
                                        array * path.sent * link.beta_s_per_byte));
  }
  require(!costs.empty(), "op", "got ", op, ", which no algorithm does");
  std::ranges::stable_sort(costs, {}, &CollectiveCost::seconds);
  return costs;
}

}  // namespace

std::vector<CollectiveCost> collective_costs(const Hardware& h, const std::string& op,
                                             const DeviceGroup& group, double bytes) {
  if (group.size == 1) return {{"none", 0, 0, 0}};
  if (h.fabric == Fabric::messages) return message_costs(h, op, group, bytes);
  if (h.fabric == Fabric::switched || leaves_domain(h, group)) return switched_costs(h, op, group, bytes);
  return torus_costs(h, op, group, bytes);
}

CollectiveCost collective_cost(const Hardware& h, const std::string& op, const DeviceGroup& group,
                               double bytes) {
  return collective_costs(h, op, group, bytes).front();
}

double busbw_factor(const std::string& op, double ranks, bool in_network) {
  if (in_network) return (ranks - 1) / (ranks + 1);
  if (op == "broadcast" || op == "reduce") return 1;
  return (op == "all_reduce" ? 2 : 1) * (ranks - 1) / ranks;
}

CollectiveCost send_cost(const Hardware& h, double bytes, double hops, double ports) {
  return one_after_the_other("send", hops * h.latency_s, bytes / (ports * h.one_way_link()));
}

std::vector<SwitchLevel> switch_levels(const Hardware& h, double devices) {
  std::vector<SwitchLevel> levels;
  const double inside = std::min(devices, h.domain), domains = std::ceil(devices / h.domain);
  if (inside > 1) levels.push_back({"domain", inside, h.link_bandwidth});
  if (domains > 1) levels.push_back({"scale-out", domains, h.domain * h.scale_out_bandwidth});
  return levels;
}

}  // namespace tessera::plan
