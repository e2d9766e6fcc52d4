#pragma once

#include <string>
#include <vector>

#include "dist/plan/hardware.h"
#include "dist/plan/price.h"

/// What a collective takes on a fabric. `bytes` are those of the whole array: gathered, summed, or each
/// device's own of an all-to-all times the devices.
namespace tessera::plan {

struct CollectiveCost {
  std::string algorithm;
  double seconds = 0;
  double latency_s = 0;    ///< what would be left of it if bandwidth were endless
  double bandwidth_s = 0;  ///< what would be left of it without latency
};

/// A group of devices: how many, how far apart (hardware.h: group_bandwidth), on how many axes of a torus.
struct DeviceGroup {
  double size = 1, stride = 1, ring_axes = 1;
};

/// Every way this fabric has, those that need something the group lacks left out:
///  torus     ring: max(hops * latency, V/W), n/2 hops, where an axis closes; line: n-1 hops of half the
///  width switched  exact: latency + V(n-1)/(nW); asymptote: V/W; in-network (all_reduce): V/W, the switch
///  sums messages  one per algorithm of dist/plan, its rounds priced
/// An all_reduce is twice an all_gather; an all_to_all a quarter of it on a ring (both ways, half way round),
/// 1/n on a switch. Sources: scaling book, sharding.md and gpus.md; NVIDIA nccl-tests, PERFORMANCE.md.
/// @throws std::invalid_argument for an operation that the fabric has no price of.
std::vector<CollectiveCost> collective_costs(const Hardware& hardware, const std::string& op,
                                             const DeviceGroup& group, double bytes);

/// The one to reckon with: the ring or line of a torus, the exact form of a switch, the cheapest rounds.
CollectiveCost collective_cost(const Hardware& hardware, const std::string& op, const DeviceGroup& group,
                               double bytes);

/// Bus bandwidth over algorithm bandwidth: the rate at which each link works. nccl-tests, PERFORMANCE.md.
double busbw_factor(const std::string& op, double ranks, bool in_network = false);

/// One message over `hops` links in a row, cut over `ports` of them side by side.
CollectiveCost send_cost(const Hardware& hardware, double bytes, double hops, double ports);

/// One level of a tree of switches: units of it below one unit of the next, and what one sends out.
struct SwitchLevel {
  std::string name;
  double degree = 1, unit_bandwidth = 0;
  /// An all-gather's rate through this level alone: degree / (degree - 1) of a unit's.
  double collective_bandwidth() const { return unit_bandwidth * degree / (degree - 1); }
};

/// Levels that `devices` of a switched fabric span: the domain, and the domains.
std::vector<SwitchLevel> switch_levels(const Hardware& hardware, double devices);

}  // namespace tessera::plan
