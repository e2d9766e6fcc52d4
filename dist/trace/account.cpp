#include "dist/trace/account.h"

#include <algorithm>

#include "dist/plan/collective_cost.h"

namespace tessera::dist {
double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + std::ssize(values) / 2;
  std::ranges::nth_element(values, middle);
  return *middle;
}

StepParts median_parts(const std::vector<StepAccount>& steps) {
  StepParts result;
  for (const auto& [name, part] : kStepParts) {
    std::vector<double> values;
    for (const StepAccount& step : steps) values.push_back(step.parts.*part);
    result.*part = median(std::move(values));
  }
  return result;
}

StepParts mean_parts(std::span<const StepAccount> steps) {
  StepParts result;
  for (const auto& [name, part] : kStepParts)
    for (const StepAccount& step : steps)
      result.*part += step.parts.*part / static_cast<double>(steps.size());
  return result;
}

StepParts RankAccount::mean() const { return mean_parts(std::span(steps).subspan(steps.size() > 2 ? 2 : 0)); }

double CommAccount::algbw() const { return seconds > 0 ? static_cast<double>(buffer_bytes) / seconds : 0; }
double CommAccount::busbw() const {
  return algbw() * (op == "point_to_point" ? 1 : plan::busbw_factor(op, ranks));
}

}  // namespace tessera::dist
