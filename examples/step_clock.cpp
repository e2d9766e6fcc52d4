#include "examples/step_clock.h"

#include <string_view>

namespace tessera {

StepClock::StepClock(std::function<double()> communication_s)
    : communication_s_(std::move(communication_s)),
      communication_before_s_(communication_s_()),
      observer_{[this](const OpInfo&) { begin(); }, [this](const OpInfo& op) { end(op); }, {}},
      listening_(context().observer, &observer_) {}

void StepClock::begin() {
  if (depth_++ == 0) op_begin_s_ = watch_.seconds();
}

void StepClock::end(const OpInfo& op) {
  if (--depth_ > 0) return;
  const std::string_view name = op.name;
  const bool optimizer = name == "optimizer" || name == "gradient norm";
  (optimizer ? times_.optimizer_s : times_.compute_s) += watch_.seconds() - op_begin_s_;
}

StepTimes StepClock::stop() {
  times_.step_s = watch_.seconds();
  times_.communication_s = communication_s_() - communication_before_s_;
  const auto& t = times_;
  times_.other_s = t.step_s - t.compute_s - t.communication_s - t.optimizer_s - t.data_s;
  return times_;
}

}  // namespace tessera
