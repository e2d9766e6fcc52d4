#pragma once

#include <array>
#include <string>
#include <vector>

#include "dist/comm/comm.h"
#include "dist/trace/account.h"
#include "dist/trace/arrivals.h"
#include "dist/trace/op_recording.h"

namespace tessera::dist {

/// Keeps the accounts of this rank: during its life ops of this thread and all communication of the job are
/// recorded. That changes no bit of any result.
///
/// What a wait was for, a slower peer or the network, depends on when the others began. So every
/// kStepsPerSettlement steps, between two of them, ranks exchange those times, and events become accounts:
/// memory does not grow with the run, but for some 100 bytes per step.
class Accountant {
 public:
  static constexpr Index kStepsPerSettlement = 32;

  /// Collective over `world`, like all of its functions that say so; no message is under way meanwhile.
  /// @param traced_steps of how many steps, from now on, to keep a timeline
  explicit Accountant(const Comm& world, Index traced_steps = 0);
  ~Accountant();
  Accountant(const Accountant&) = delete;
  Accountant& operator=(const Accountant&) = delete;

  /// For spans of the caller's own: each step is one of SpanKind::step, with its number.
  Recorder* recorder() { return &recorder_; }
  /// After each step, outside of its span. Collective, and settles when it is time to.
  void step_done();
  /// Makes accounts of all events so far. Collective; waits for what is under way, here.
  void settle();

  const std::vector<StepAccount>& steps() const { return steps_; }
  const std::vector<CommAccount>& comm() const { return comms_; }
  /// Current and peak bytes of each category when accounts were last settled; no formulas.
  const std::array<MemoryAccount, kNumCategories>& memory() const { return memory_; }
  double clock_error_s() const { return clock_.error_s; }
  /// Ends of spans and operations, and what each takes on this machine.
  double events_per_step() const;
  double event_cost_s() const { return event_cost_s_; }
  /// This rank's lines of the timeline (chrome_trace.h).
  const std::string& timeline() const { return timeline_; }

 private:
  void account(const Arrivals& arrivals);
  void set_detailed() { recorder_.set_detailed(num_steps_ < traced_steps_); }

  Comm comm_;  // for what ranks tell each other
  Index traced_steps_, num_steps_ = 0, num_unsettled_ = 0;
  Recorder recorder_;
  double event_cost_s_;
  Index num_events_ = 0;
  ClockOffset clock_;
  double origin_s_;  // when it all began, on rank 0's clock
  std::vector<StepAccount> steps_;
  std::vector<CommAccount> comms_;
  std::array<MemoryAccount, kNumCategories> memory_{};
  std::string timeline_;
  const OpRecording recording_;
};

}  // namespace tessera::dist
