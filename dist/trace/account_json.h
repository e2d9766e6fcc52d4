#pragma once

#include <nlohmann/json_fwd.hpp>

#include "dist/trace/account.h"

/// Accounts as JSON, and back. Names are those of DESIGN.md, section 8; seconds, bytes, bytes per second.
namespace tessera::dist {

/// {"step_s", "compute_s", ...}
void to_json(nlohmann::json& j, const StepParts& parts);
void from_json(const nlohmann::json& j, StepParts& parts);

/// {"op", "axis", "purpose", "algorithm", "ranks", "calls", "messages", "bytes", "buffer_bytes", "seconds",
/// "algbw", "busbw", "predicted_s"}
void to_json(nlohmann::json& j, const CommAccount& account);
void from_json(const nlohmann::json& j, CommAccount& account);

/// {"rank", "node", "coords", "peak_bytes", "current_bytes", "formula_bytes", "peak_rss_bytes", "parameters",
/// "events_per_step", "event_cost_s", "clock_error_s", "mean": parts, "steps": {"step": [...], "begin_s":
/// [...], "step_s": [...], ...}, "comm": [...]}. Steps are one list per part, which is half the bytes.
/// formula_bytes has only the categories that the plan has a formula for.
void to_json(nlohmann::json& j, const RankAccount& account);
void from_json(const nlohmann::json& j, RankAccount& account);

}  // namespace tessera::dist
