#include "dist/plan/run_file.h"

#include <algorithm>
#include <cmath>

#include "dist/plan/request.h"
#include "dist/plan/require.h"

namespace tessera::plan {

using nlohmann::json;

const json& at(const json& object, const char* field, json::value_t type) {
  const bool there = object.is_object() && object.contains(field);
  require(there, "run", "has no \"", field, "\", expected what train --json writes");
  const json& value = object[field];
  const bool right = value.type() == type || (type == json::value_t::number_float && value.is_number());
  require(right, "run", "\"", field, "\" is ", shown(value), ", expected what train --json writes");
  return value;
}

double number_at(const json& object, const char* field) {
  return check_quantity(field, at(object, field, json::value_t::number_float).get<double>());
}

std::string word_at(const json& object, const char* field) {
  return at(object, field, json::value_t::string).get<std::string>();
}

LedgerInput ledger_input(const json& run, double rank) {
  const json &config = at(run, "config", json::value_t::object),
             &layout = at(run, "layout", json::value_t::object);
  const double batch = number_at(config, "batch"), dp = number_at(layout, "dp");
  const double momentum = number_at(config, "momentum");
  const bool adam = word_at(config, "optimizer") == "adamw";
  return {
      .model = model_from_json(at(config, "model", json::value_t::object)),
      .sequences = std::floor(batch / dp) + (rank < std::fmod(batch, dp) ? 1 : 0),
      .microbatches = number_at(layout, "microbatches"),
      .number_bytes = word_at(config, "dtype") == "f64" ? 8.0 : 4.0,
      .optimizer_states = adam           ? 2.0
                          : momentum > 0 ? 1.0
                                         : 0.0,
      .recompute = word_at(layout, "recompute"),
      .ranks = dp,
      .zero = number_at(layout, "zero"),
      .shard_ranks = std::max(
          1.0, layout.contains("shard") && number_at(layout, "shard") > 0 ? number_at(layout, "shard") : dp),
      .bucket_bytes = layout.contains("bucket_mb") ? number_at(layout, "bucket_mb") * 0x1p20 : 0x1p21};
}

}  // namespace tessera::plan
