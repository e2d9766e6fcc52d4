#include "dist/plan/pipeline_schedule.h"
#include "dist/plan/query_internal.h"
#include "dist/plan/roofline.h"

namespace tessera::plan {

nlohmann::json query_list(Request&) {
  nlohmann::json hardware = nlohmann::json::array(), models = nlohmann::json::array();
  for (const Hardware& h : hardware_presets()) hardware.push_back(to_json(h));
  for (const Model& m : model_presets()) models.push_back(to_json(m));
  return {
      {"hardware", hardware},
      {"models", models},
      {"strategies", roofline_strategies()},
      {"schedules", pipeline_schedule_names()},
      {"states", state_conventions()},
      {"verdict", std::to_string(hardware.size()) + " kinds of hardware, " + std::to_string(models.size()) +
                      " models; --hardware and --model take a file for any other."}};
}

}  // namespace tessera::plan
