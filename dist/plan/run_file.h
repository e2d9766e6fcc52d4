#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "dist/plan/ledger.h"

/// What train --json tells of a run, as far as the plan has something to say of it.
namespace tessera::plan {

/// A field. @throws std::invalid_argument naming what is missing, or not of that type.
const nlohmann::json& at(const nlohmann::json& object, const char* field, nlohmann::json::value_t type);
double number_at(const nlohmann::json& object, const char* field);
std::string word_at(const nlohmann::json& object, const char* field);

/// What decides the memory of `rank` in a run of which "config" and "layout" are there.
LedgerInput ledger_input(const nlohmann::json& run, double rank);

}  // namespace tessera::plan
