#pragma once

// The commands behind query(), and what they share. Internal: not installed.

#include <nlohmann/json.hpp>

#include "dist/plan/hardware.h"
#include "dist/plan/layout.h"
#include "dist/plan/memory.h"
#include "dist/plan/models.h"
#include "dist/plan/request.h"

namespace tessera::plan {

/// Each takes the whole request and returns its answer. @throws std::invalid_argument for what cannot be.
nlohmann::json query_roofline(Request& request);
nlohmann::json query_memory(Request& request);
nlohmann::json query_pipeline(Request& request);
nlohmann::json query_search(Request& request);
nlohmann::json query_collective(Request& request);
nlohmann::json query_check(Request& request);
nlohmann::json query_list(Request& request);

/// "model", by default llama3-70b.
Model read_model(Request& request);
/// "hardware", by default tpu-v5p, and "derate": spec or measured.
Hardware read_hardware(Request& request);
/// "batch" in tokens, or "sequences", times the tokens of one. 0 if neither is there.
double read_batch(Request& request, double sequence);
/// "sequence", tokens of one; by default the model's context, or 4096 if that is not known.
double read_sequence(Request& request, const Model& model);

/// "state" and "activations", with "saved_widths".
StateBytes read_state(Request& request);
ActivationRule read_activations(Request& request);

nlohmann::json to_json(const StageMemory& stage);
nlohmann::json layout_json(const Layout& layout);

/// null for none.
nlohmann::json number_or_null(const std::optional<double>& value);

}  // namespace tessera::plan
