#pragma once

#include <nlohmann/json_fwd.hpp>

#include "examples/cli.h"

namespace tessera {

/// What the planner is asked (dist/plan/query.h): the flags' texts as they are, but models and hardware from
/// files or of this machine, and a run's measurements, put in their places.
/// @throws std::invalid_argument for a file that cannot be read or holds no JSON.
nlohmann::json plan_request(const PlanOptions& options);

/// The first value of a JSON file that is hostile until checked: its size, its nesting.
nlohmann::json read_json_file(const char* flag, const std::string& path);

}  // namespace tessera
