#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace tessera {

/// This machine as the planner's hardware: a device is a rank of one thread, a domain the cores that there
/// are. Measures the best matrix product and the memory's bandwidth, in about a second; the network comes
/// from `network`, what bench collectives --json wrote, since it takes ranks to measure it. Alone, one
/// device, it needs none.
/// @throws std::invalid_argument for a file without the constants.
nlohmann::json this_machine(const std::string& network);

/// {"alpha_s", "beta_s_per_byte"} of such a file.
nlohmann::json network_constants(const std::string& path);

}  // namespace tessera
