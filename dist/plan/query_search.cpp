#include <algorithm>

#include "dist/plan/query_internal.h"
#include "dist/plan/require.h"
#include "dist/plan/search.h"

namespace tessera::plan {
namespace {

using nlohmann::json;

json to_json(const StepCost& c) {
  return {{"step_s", c.step_s()},     {"compute_s", c.compute_s},     {"tensor_s", c.tensor_s},
          {"context_s", c.context_s}, {"expert_s", c.expert_s},       {"bubble_s", c.bubble_s},
          {"data_s", c.data_s},       {"optimizer_s", c.optimizer_s}, {"hidden_data_s", c.hidden_data_s}};
}

json to_json(const Candidate& c) {
  return {{"layout", layout_json(c.layout)},
          {"cost", to_json(c.cost)},
          {"memory", to_json(c.memory)},
          {"mfu", c.mfu}};
}

/// What takes most of the step besides compute.
std::string costliest(const StepCost& c) {
  const std::pair<double, const char*> parts[] = {
      {c.tensor_s, "tensor-parallel sums"}, {c.context_s, "keys and values"}, {c.expert_s, "expert exchange"},
      {c.bubble_s, "pipeline bubble"},      {c.data_s, "gradient sums"},      {c.optimizer_s, "optimizer"}};
  const auto& [seconds, name] = *std::ranges::max_element(parts);
  if (seconds == 0) return "";
  return ", after compute most of it " + std::string(name) + " (" +
         quantity_text(100 * seconds / c.step_s(), Unit::count) + " %)";
}

std::string verdict(const SearchResult& r, const SearchInput& in) {
  if (r.ranked.empty())
    return "Nothing fits on " + quantity_text(in.devices, Unit::count) +
           " devices: use more, or a smaller batch.";
  const Candidate& best = r.ranked.front();
  return "Best of " + quantity_text(static_cast<double>(r.considered), Unit::count) + ": " +
         to_string(best.layout) + ", " + quantity_text(best.cost.step_s(), Unit::seconds) + " a step, MFU " +
         quantity_text(100 * best.mfu, Unit::count) + " %" + costliest(best.cost) + ".";
}

}  // namespace

json query_search(Request& request) {
  SearchInput in;
  in.model = read_model(request);
  in.hardware = read_hardware(request);
  in.devices = request.whole_or("devices", 64);
  in.sequence = read_sequence(request, in.model);
  in.batch = read_batch(request, in.sequence);
  if (in.batch == 0) in.batch = 2e6;
  in.state = read_state(request);
  in.activations = read_activations(request);
  const auto limit = static_cast<std::size_t>(request.whole_or("limit", 20));

  const SearchResult r = search_layouts(in);
  json ranked = json::array(), misfits = json::array();
  for (const Candidate& c : r.ranked)
    if (ranked.size() < limit) ranked.push_back(to_json(c));
  for (const Misfit& misfit : r.misfits)
    if (misfits.size() < limit)
      misfits.push_back({{"layout", layout_json(misfit.layout)}, {"reason", misfit.reason}});
  return {{"model", to_json(in.model)}, {"hardware", to_json(in.hardware)}, {"devices", in.devices},
          {"batch", in.batch},          {"sequence", in.sequence},          {"considered", r.considered},
          {"fitting", r.ranked.size()}, {"not_fitting", r.misfits.size()},  {"layouts", ranked},
          {"misfits", misfits},         {"verdict", verdict(r, in)}};
}

}  // namespace tessera::plan
