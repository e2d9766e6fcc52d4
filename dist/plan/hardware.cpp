#include "dist/plan/hardware.h"

#include <algorithm>

#include "dist/plan/request.h"
#include "dist/plan/require.h"

namespace tessera::plan {
namespace {

using nlohmann::json;

constexpr double kHop = 1e-6;  // of a chip-to-chip link; scaling book, sharding.md
// Of a collective over NVLink and over InfiniBand; Calculon's A100 system.
constexpr double kNvlink = 1e-5, kInfiniBand = 2e-5;

Hardware tpu(const char* name, double flops, double memory, double memory_bandwidth, double axis,
             double scale_out, double axes, double wrap, double pod, Derate measured = {}) {
  return {.name = name,
          .fabric = Fabric::torus,
          .flops = flops,
          .memory_bytes = memory,
          .memory_bandwidth = memory_bandwidth,
          .link_bandwidth = axis,
          .scale_out_bandwidth = scale_out,
          .domain = pod,
          .axes = axes,
          .wrap = wrap,
          .latency_s = kHop,
          .scale_out_latency_s = kHop,
          .measured = measured,
          .source = "scaling book, tpus.md"};
}

Hardware gpu(const char* name, double flops, double memory, double memory_bandwidth, double link,
             double scale_out, double domain, Derate measured = {}) {
  return {.name = name,
          .fabric = Fabric::switched,
          .flops = flops,
          .memory_bytes = memory,
          .memory_bandwidth = memory_bandwidth,
          .link_bandwidth = link,
          .scale_out_bandwidth = scale_out,
          .domain = domain,
          .latency_s = kNvlink,
          .scale_out_latency_s = kInfiniBand,
          .measured = measured,
          .source = "scaling book, gpus.md"};
}

Fabric fabric_from(const std::string& name) {
  for (const Fabric fabric : {Fabric::torus, Fabric::switched, Fabric::messages})
    if (name == to_string(fabric)) return fabric;
  require(false, "fabric", "got ", shown(name), ", expected torus, switched or messages");
  return {};
}

const Hardware* find(const std::string& name) {
  for (const Hardware& preset : hardware_presets())
    if (preset.name == name) return &preset;
  return nullptr;
}

Hardware preset(const std::string& name) {
  std::vector<std::string> names;
  for (const Hardware& known : hardware_presets()) names.push_back(known.name);
  require_known("hardware", name, names);
  return *find(name);
}

}  // namespace

const char* to_string(Fabric fabric) {
  constexpr const char* kNames[] = {"torus", "switched", "messages"};
  return kNames[static_cast<int>(fabric)];
}

// Shares measured: the interactive guide's notes. Of H100 and H800 the link's, of H100 and B200 the matrix
// products' are measurements; the others are its estimates.
const std::vector<Hardware>& hardware_presets() {
  static const std::vector<Hardware> kPresets = {
      tpu("tpu-v4p", 2.75e14, 32e9, 1.2e12, 9e10, 6.25e9, 3, 4, 4096),
      tpu("tpu-v5e", 1.97e14, 16e9, 8.2e11, 9e10, 3.125e9, 2, 16, 256, {.67, .95, .90}),
      tpu("tpu-v5p", 4.59e14, 96e9, 2.8e12, 1.8e11, 6.25e9, 3, 4, 8960, {.72, .95, .90}),
      tpu("tpu-v6e", 9.2e14, 32e9, 1.6e12, 1.8e11, 12.5e9, 2, 16, 256),
      tpu("tpu-v7x", 2.3e15, 192e9, 7.4e12, 1.8e11, 12.5e9, 3, 4, 9216),
      gpu("a100", 3.12e14, 80e9, 2.04e12, 3e11, 2.5e10, 8),
      gpu("h100", 9.9e14, 80e9, 3.35e12, 4.5e11, 5e10, 8, {.73, .82, .85}),
      gpu("h200", 9.9e14, 141e9, 4.8e12, 4.5e11, 5e10, 8),
      gpu("h800", 9.9e14, 80e9, 3.36e12, 2e11, 5e10, 8, {.73, .80, .85}),
      gpu("b200", 2.25e15, 180e9, 8e12, 9e11, 5e10, 8, {.69, .82, .85}),
      gpu("gb200", 2.5e15, 186e9, 8e12, 9e11, 5e10, 72, {.70, .82, .85}),
      gpu("gb300", 2.5e15, 288e9, 8e12, 9e11, 1e11, 72, {.70, .82, .85}),
  };
  return kPresets;
}

Hardware hardware_from_json(const json& value) {
  if (value.is_string()) return preset(value.get<std::string>());
  Request request(value, "hardware");
  const std::string base = request.word("base", "");
  Hardware h = base.empty() ? Hardware{} : preset(base);
  h.name = request.word("name", base.empty() ? "custom" : base + ", changed");
  h.fabric = fabric_from(request.word("fabric", to_string(h.fabric)));
  h.flops = request.number("flops", Unit::flops, h.flops);
  h.memory_bytes = request.number("memory_bytes", Unit::bytes, h.memory_bytes);
  h.memory_bandwidth = request.number("memory_bandwidth", Unit::bytes_per_s, h.memory_bandwidth);
  h.link_bandwidth = request.number("link_bandwidth", Unit::bytes_per_s, h.link_bandwidth);
  h.scale_out_bandwidth =
      request.number("scale_out_bandwidth", Unit::bytes_per_s,
                     h.scale_out_bandwidth > 0 ? h.scale_out_bandwidth : h.one_way_link());
  h.domain = request.whole_or("domain", h.domain);
  h.axes = request.whole_or("axes", h.axes);
  h.wrap = request.whole_or("wrap", h.wrap);
  h.latency_s = request.amount("latency_s", Unit::seconds, h.latency_s);
  h.scale_out_latency_s = request.amount("scale_out_latency_s", Unit::seconds,
                                         h.scale_out_latency_s > 0 ? h.scale_out_latency_s : h.latency_s);
  h.bytes_per_number = request.number("bytes_per_number", Unit::count, h.bytes_per_number);
  h.source = request.word("source", base.empty() ? "custom" : h.source);
  request.done();
  require(h.flops > 0, "hardware", "has no flops, expected a rate like 989TFLOP/s, or a base");
  require(h.link_bandwidth > 0, "hardware", "has no link_bandwidth, expected a rate like 450GB/s, or a base");
  return h;
}

Hardware derated(Hardware h) {
  require(h.has_measured(), "derate", "no measured shares are known of ", h.name, ", expected spec");
  h.flops *= h.measured.compute;
  h.link_bandwidth *= h.measured.link;
  h.scale_out_bandwidth *= h.measured.scale_out;
  h.name += ", as measured";
  h.measured = {};
  return h;
}

json to_json(const Hardware& h) {
  json result = {{"name", h.name},
                 {"fabric", to_string(h.fabric)},
                 {"flops", h.flops},
                 {"memory_bytes", h.memory_bytes},
                 {"memory_bandwidth", h.memory_bandwidth},
                 {"link_bandwidth", h.link_bandwidth},
                 {"scale_out_bandwidth", h.scale_out_bandwidth},
                 {"domain", h.domain},
                 {"domain_egress", h.domain * h.scale_out_bandwidth},
                 {"axes", h.axes},
                 {"latency_s", h.latency_s},
                 {"scale_out_latency_s", h.scale_out_latency_s},
                 {"source", h.source}};
  result["measured"] = nullptr;
  if (h.has_measured())
    result["measured"] = {
        {"compute", h.measured.compute}, {"link", h.measured.link}, {"scale_out", h.measured.scale_out}};
  return result;
}

double group_bandwidth(const Hardware& h, double size, double stride, double ring_axes) {
  const double link = h.link_bandwidth * (h.fabric == Fabric::torus ? ring_axes : 1);
  if (size * stride <= h.domain) return link;
  const double together = std::clamp(h.domain / stride, 1.0, size);
  return std::min(link, h.scale_out_bandwidth * together);
}

}  // namespace tessera::plan
