#pragma once

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "dist/plan/query.h"

namespace tessera::plan {

/// The answer to a request that has one.
inline nlohmann::json answer_to(const nlohmann::json& request) {
  const nlohmann::json result = query(request);
  EXPECT_TRUE(result.contains("answer")) << request.dump() << "\n" << result.dump();
  return result.value("answer", nlohmann::json::object());
}

/// The error of a request that has none.
inline std::string refusal_of(const nlohmann::json& request) {
  const nlohmann::json result = query(request);
  EXPECT_FALSE(result.contains("answer")) << request.dump() << "\n" << result.dump().substr(0, 500);
  return result.value("error", "");
}

}  // namespace tessera::plan
