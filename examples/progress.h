#pragma once

#include <string>

#include "examples/history.h"
#include "examples/process.h"

namespace tessera {

/// Says on stdout how a run goes: on a terminal one line that is rewritten, else a line every 5 % of the
/// steps or 10 s.
class Progress {
 public:
  /// From step `done` to `steps`. Nothing is printed unless `shown`: one rank speaks for all.
  Progress(Index done, Index steps, bool shown);
  /// After each step; prints it if it is time, or if it is the last.
  void step(const StepRecord& record);
  /// A line that stays.
  void line(const std::string& text);

 private:
  bool due(Index done) const;
  std::string text(const StepRecord& record) const;

  Index first_, steps_, tokens_ = 0, printed_step_ = 0;
  bool shown_;
  double step_s_ = 0;  // sum over steps
  double printed_s_ = 0;
  bool terminal_;
  Stopwatch watch_;
};

}  // namespace tessera
