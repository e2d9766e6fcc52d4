#include "examples/this_machine.h"

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <vector>

#include "examples/gemm_peak.h"
#include "examples/plan_request.h"
#include "examples/process.h"
#include "tensor/check.h"
#include "tensor/context.h"
#include "tensor/threads.h"

namespace tessera {
namespace {

using nlohmann::json;

/// Bytes read and written per second by a copy that is far larger than the caches; the best of a few.
double copy_bandwidth() {
  constexpr std::size_t kNumbers = 1 << 23;
  std::vector<double> from(kNumbers, 1.0), to(kNumbers);
  double best = 0;
  for (int i = 0; i < 5; ++i) {
    from[static_cast<std::size_t>(i)] += 1;  // so that no copy can be left out
    const auto start = std::chrono::steady_clock::now();
    std::ranges::copy(from, to.begin());
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    best = std::max(best, 2.0 * kNumbers * sizeof(double) / took.count());
    check(to.front() == from.front(), "this-machine", "a copy differs from what was copied");
  }
  return best;
}

}  // namespace

json network_constants(const std::string& path) {
  const json file = read_json_file("--network", path);
  json constants;
  for (const char* field : {"alpha_s", "beta_s_per_byte"}) {
    const bool there = file.is_object() && file.contains(field) && file[field].is_number();
    check(there, "--network", path, ": has no \"", field,
          "\", expected what bench collectives --json writes");
    constants[field] = file[field];
  }
  return constants;
}

json this_machine(const std::string& network) {
  context().threads = 1;
  const int cores = available_cores();
  json hardware = {{"name", "this machine"},
                   {"fabric", "messages"},
                   {"flops", gemm_peak(DType::f32)},
                   {"memory_bytes", physical_memory_bytes() / cores},
                   {"memory_bandwidth", copy_bandwidth()},
                   {"domain", cores},
                   {"bytes_per_number", 4},
                   {"source", "measured"}};
  if (network.empty()) {
    // A copy is the fastest message there could be; without latency, since none was measured.
    hardware["link_bandwidth"] = hardware["memory_bandwidth"];
    hardware["source"] = "measured, but for the network: --network FILE gives it";
    return hardware;
  }
  const json constants = network_constants(network);
  hardware["latency_s"] = constants["alpha_s"];
  hardware["link_bandwidth"] = 1 / constants["beta_s_per_byte"].get<double>();
  return hardware;
}

}  // namespace tessera
