#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "dist/plan/automatic.h"

namespace tessera {

/// The prices of a network as bench collectives --json writes them, in "network".
nlohmann::json network_json(const plan::Network& network);

/// Those of a file that it wrote; from ranks of one node, the prices between nodes are the built-in ones.
/// @throws std::invalid_argument naming the file and what is missing, not a number, or not positive.
plan::Network read_network(const std::string& path);

}  // namespace tessera
