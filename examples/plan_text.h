#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace tessera {

/// A titled table of texts; numbers stand right.
struct TextTable {
  std::string title;
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;
};

/// The tables of an answer of plan::query, of any of its commands.
std::vector<TextTable> plan_tables(const std::string& command, const nlohmann::json& answer);

/// Tables, and the verdict at the end, for a terminal.
std::string plan_text(const std::string& command, const nlohmann::json& answer);

}  // namespace tessera
