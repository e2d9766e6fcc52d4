#pragma once

#include <functional>

#include "examples/process.h"
#include "tensor/context.h"

namespace tessera {

/// Where the seconds of one step went; what is in none of the parts is `other`. Communication is all time
/// spent in collectives, waiting for slower ranks included.
struct StepTimes {
  double step_s = 0, compute_s = 0, communication_s = 0, optimizer_s = 0, data_s = 0, other_s = 0;
};

/// Times a step by listening to its ops, from construction to stop(): the gradient's norm and the update are
/// `optimizer`, all other ops `compute`. Costs two clock reads per op.
class StepClock {
 public:
  /// @param communication_s seconds that this rank has spent in collectives so far.
  explicit StepClock(std::function<double()> communication_s = [] { return 0.0; });
  /// All up to now was making the batch.
  void data_done() { times_.data_s = watch_.seconds(); }
  StepTimes stop();

 private:
  void begin();
  void end(const OpInfo& op);

  std::function<double()> communication_s_;
  double communication_before_s_;
  Stopwatch watch_;
  StepTimes times_;
  int depth_ = 0;  // of nested ops: only the outermost is timed
  double op_begin_s_ = 0;
  OpObserver observer_;
  Scoped<const OpObserver*> listening_;
};

}  // namespace tessera
