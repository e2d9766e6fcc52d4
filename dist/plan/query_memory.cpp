#include <cmath>

#include "dist/plan/query_internal.h"
#include "dist/plan/require.h"

namespace tessera::plan {
namespace {

using nlohmann::json;

std::string bytes(double value) { return quantity_text(value, Unit::bytes); }

std::string verdict(const StageMemory& s, const Hardware& h, const Layout& l, double whole) {
  const std::string where = s.stage == "all" ? "" : ", on the " + s.stage + " stage";
  if (s.total() <= h.memory_bytes)
    return "Fits: " + bytes(s.total()) + " of " + bytes(h.memory_bytes) + " per device" + where + ".";
  const bool state = s.state() > s.total() / 2;
  const std::string advice =
      state && l.zero < 3 ? "raise zero from " + quantity_text(l.zero, Unit::count) + ", tp or pp"
      : state             ? "raise dp, tp or pp"
      : l.recompute != Recompute::full
          ? std::string("use more microbatches, or recompute more than ") + to_string(l.recompute)
          : "use more microbatches, or raise tp or cp";
  return "Does not fit: " + bytes(s.total()) + " needed, " + bytes(h.memory_bytes) + " there" + where +
         ", most of it " + (state ? "model state" : "activations") + "; " + advice + ". At least " +
         quantity_text(std::ceil(whole / h.memory_bytes), Unit::count) +
         " devices, if all of it were sharded.";
}

}  // namespace

json query_memory(Request& request) {
  MemoryInput in;
  in.model = read_model(request);
  const Hardware h = read_hardware(request);
  require(h.memory_bytes > 0, "hardware", "has no memory_bytes, expected a size like 80GB");
  in.layout = layout_from(request);
  in.state = read_state(request);
  in.activations = read_activations(request);
  in.sequence = read_sequence(request, in.model);
  in.batch = read_batch(request, in.sequence);
  const std::string reason = impossible(in.layout, in.model);
  require(reason.empty(), "layout", reason);

  const std::vector<StageMemory> stages = stage_memory(in);
  const StageMemory worst = fullest(stages);
  json stages_json = json::array();
  for (const StageMemory& stage : stages) stages_json.push_back(to_json(stage));

  // Of all devices together, as if each parameter and token were held once.
  const Layout once = {.recompute = in.layout.recompute};
  const double parameters = count_parameters(in.model).total();
  const double layer_bytes = in.activations.bytes_per_token(in.model, in.layout, in.sequence);
  const double activations =
      in.batch * in.model.layers * in.activations.bytes_per_token(in.model, once, in.sequence);
  const double state = in.state.total() * parameters, whole = state + activations;
  const double tokens = in.batch / (in.layout.dp * in.layout.cp * in.layout.microbatches);
  return {{"model", to_json(in.model)},
          {"hardware", to_json(h)},
          {"layout", layout_json(in.layout)},
          {"batch", in.batch},
          {"sequence", in.sequence},
          {"bytes_per_parameter", in.state.total()},
          {"stages", stages_json},
          {"per_device", to_json(worst)},
          {"fits", worst.total() <= h.memory_bytes},
          {"activation_bytes_per_layer", layer_bytes * tokens},
          {"whole",
           {{"parameters", parameters},
            {"weights", in.state.weights * parameters},
            {"gradients", in.state.gradients * parameters},
            {"optimizer", in.state.optimizer * parameters},
            {"state", state},
            {"activations", activations},
            {"total", whole},
            {"min_devices", std::ceil(whole / h.memory_bytes)}}},
          {"max_parameters_replicated", h.memory_bytes / in.state.total()},
          {"volume_per_parameter", zero_volume(in.layout.zero)},
          {"recompute_flops_ratio", hardware_flops_per_token(in.model, in.sequence, in.layout.recompute) /
                                        model_flops_per_token(in.model, in.sequence)},
          {"verdict", verdict(worst, h, in.layout, whole)}};
}

}  // namespace tessera::plan
