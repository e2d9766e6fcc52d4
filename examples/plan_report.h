#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace tessera {

/// One self-contained HTML page: the verdict, charts in inline SVG, the tables. Asks the planner for more
/// where a chart shows more than one answer (times over batch, over bytes).
/// @param request what was asked; @param result what plan::query answered.
std::string plan_report(const nlohmann::json& request, const nlohmann::json& result);

}  // namespace tessera
