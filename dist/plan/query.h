#pragma once

#include <nlohmann/json_fwd.hpp>

namespace tessera::plan {

/// What query() speaks. It grows by fields; it changes when one changes its meaning.
inline constexpr int kQueryVersion = 1;

/// The one entry of the planner: what the plan program asks, and whatever else will.
///
/// A request is an object: "command" (roofline, memory, pipeline, search, collective, check or list),
/// "version" (may be left out) and the command's fields, which query_COMMAND.cpp reads. Numbers may be texts
/// with units (units.h). The answer is {"version", "command", "answer": {...}}, with seconds, bytes, FLOP/s,
/// tokens as units, or {"version", "error": "..."}. Every number in an answer is finite; null says that there
/// is none.
///
/// No exception leaves it, whatever the request holds.
nlohmann::json query(const nlohmann::json& request) noexcept;

}  // namespace tessera::plan
