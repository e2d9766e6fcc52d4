#include "examples/history.h"

#include <algorithm>

namespace tessera {

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<Index>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

StepTimes median_times(const std::vector<StepTimes>& times) {
  const auto of = [&](double StepTimes::*part) {
    std::vector<double> values;
    for (const StepTimes& t : times) values.push_back(t.*part);
    return median(std::move(values));
  };
  return {of(&StepTimes::step_s),      of(&StepTimes::compute_s), of(&StepTimes::communication_s),
          of(&StepTimes::optimizer_s), of(&StepTimes::data_s),    of(&StepTimes::other_s)};
}

StepTimes median_times(const History& history) {
  std::vector<StepTimes> times;
  const std::size_t count = history.steps.size();
  for (std::size_t i = count > 2 ? 2 : 0; i < count; ++i) times.push_back(history.steps[i].times);
  return median_times(times);
}

}  // namespace tessera
