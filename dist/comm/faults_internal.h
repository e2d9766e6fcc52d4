#pragma once

#include <random>

#include "dist/comm/buffer.h"

namespace tessera::dist {

/// What a test has done to the messages of this rank (Progress::set_faults). None may change a
/// result. (Cutting makes messages small.)
struct FaultOptions {
  bool poison = false;             ///< fills memory that is yet to be received into, or given back, with NaN
  bool synchronous_sends = false;  ///< a send is done when its receive has begun
  double delay_s = 0;      ///< the longest sleep before some sends; and some arrivals are noticed late
  Index killed_after = 0;  ///< sends after which the process kills itself; 0: never
  unsigned seed = 1;       ///< of delays
};

/// Does it: called wherever an execution sends or receives.
class Faults {
 public:
  explicit Faults(const FaultOptions& options) : options_(options), random_(options.seed) {}

  void poison(void* data, Index bytes) const;
  /// Whether to send synchronously. May sleep, or end the process.
  bool before_send();
  /// Whether not to notice what has arrived, this time.
  bool looks_away();

 private:
  double draw() { return std::uniform_real_distribution<double>()(random_); }

  const FaultOptions options_;
  std::mt19937 random_;
  Index num_sends_ = 0;
};

}  // namespace tessera::dist
