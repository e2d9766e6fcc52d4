#pragma once

// JSON from outside, which may be anything. Internal: not installed.

#include <nlohmann/json.hpp>
#include <string>

#include "tensor/shape.h"

namespace tessera::nn {

/// The one JSON value in `text`. @throws std::invalid_argument "[op] source: ..." for what is no JSON (with
/// its offset, counted from `offset`), lists and objects nested deeper than max_depth, or an object with a
/// name twice.
nlohmann::json parse_json(const char* op, const std::string& source, const std::string& text, Index offset,
                          int max_depth);

/// A text or value for an error message: quoted ASCII, cut to a readable length, whatever it holds.
std::string shown(const nlohmann::json& value);

/// Whether it is an integer from 0 to 2^63 - 1, so that get<Index>() is exact.
bool is_index(const nlohmann::json& value);

}  // namespace tessera::nn
