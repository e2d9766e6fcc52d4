#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

/// Devices and what joins them. Bandwidths are bytes/s, and say which way they count:
///  - torus: one ring per axis, wired both ways. link_bandwidth is one axis's, *both directions together*,
///  since
///    a ring collective uses both; what leaves a chip one way is half of it.
///  - switched: link_bandwidth is what one device can send, *one way*, to any others of its domain.
///  - messages: processes that send messages, one way, each with a latency of its own (MPI on a CPU cluster).
/// Taking one for the other is an error of two: a pair of one-way 90 GB/s is one axis of 180 GB/s.
namespace tessera::plan {

enum class Fabric { torus, switched, messages };
const char* to_string(Fabric fabric);

/// The share of a specification that measurements reach.
struct Derate {
  double compute = 1, link = 1, scale_out = 1;
};

struct Hardware {
  std::string name = "custom";
  Fabric fabric = Fabric::switched;
  double flops = 0;                ///< FLOP/s of dense matrix products: bf16, or what was measured
  double memory_bytes = 0;         ///< of one device
  double memory_bandwidth = 0;     ///< of one device
  double link_bandwidth = 0;       ///< inside a domain; see above
  double scale_out_bandwidth = 0;  ///< of one device, one way, between domains
  double domain = 1;               ///< devices of a pod, an NVLink island, a node
  double axes = 1;                 ///< rings of a torus
  double wrap = 1;                 ///< an axis closes to a ring if its length is a multiple of this
  double latency_s = 0;            ///< torus: of a hop; switched: of a collective; messages: of a message
  double scale_out_latency_s = 0;  ///< the same between domains
  double bytes_per_number = 2;     ///< of activations, weights and gradients on the wire
  Derate measured{};               ///< published; all 1: none is known
  std::string source{};

  double one_way_link() const { return fabric == Fabric::torus ? link_bandwidth / 2 : link_bandwidth; }
  bool has_measured() const { return measured.compute < 1; }
};

/// Presets, in the order that plan list shows.
const std::vector<Hardware>& hardware_presets();

/// A preset by name, or a custom one: an object with "base", the name of a preset, and what differs, or all
/// fields. @throws std::invalid_argument for unknown names and fields, and values that cannot be.
Hardware hardware_from_json(const nlohmann::json& name_or_object);

/// The hardware with its published measured shares taken off.
/// @throws std::invalid_argument if none are known.
Hardware derated(Hardware hardware);

nlohmann::json to_json(const Hardware& hardware);

/// Bytes/s at which each device of a group takes part in a collective, inside or across domains.
///
/// Members are `stride` devices apart. A group inside one domain has the link. Beyond it, the members that
/// share a domain work as one (reduce inside, exchange outside), so each device has the scale-out bandwidth
/// of all of them, but never more than the link. `ring_axes` is how many axes of a torus the group uses.
/// Source: the hierarchical forms of the scaling book, gpus.md: V / (W_node max(G, Y) / G).
double group_bandwidth(const Hardware& hardware, double size, double stride, double ring_axes);

}  // namespace tessera::plan
