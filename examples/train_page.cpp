#include "examples/train_page.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "dist/trace/page.h"

namespace tessera {
namespace {

using nlohmann::json;

json to_json(const dist::LayoutReport& layout) {
  json parameters = json::array();
  for (const dist::HeldParameter& p : layout.parameters) {
    const auto part = [&](const nn::Box& box) {
      return box == nn::Box::whole(p.global_shape) ? "all" : nn::to_string(box);
    };
    parameters.push_back({{"name", p.name},
                          {"module", p.module},
                          {"shape", to_string(p.global_shape)},
                          {"uses", part(p.used)},
                          {"owns", part(p.owned)},
                          {"placement", p.placement}});
  }
  return {{"parameters", parameters}};
}

}  // namespace

std::string train_page(const TrainReport& report, const dist::LayoutReport& layout,
                       const std::vector<std::string>& timeline) {
  const std::size_t ranks = report.ranks.size();
  const std::string title = fmt::format("{} on {} rank{}", report.config.name, ranks, ranks == 1 ? "" : "s");
  return dist::report_page(title, to_json(report), to_json(layout), timeline);
}

}  // namespace tessera
