#pragma once

#include <chrono>
#include <string>

#include "tensor/shape.h"

namespace tessera {

/// Resident memory of this process: now, and at most so far.
Index rss_bytes();
Index peak_rss_bytes();
/// What this machine has.
Index physical_memory_bytes();
/// Page faults so far that needed no disk: memory that was new to this process.
Index minor_faults();
std::string host_name();

/// Seconds since it was made.
class Stopwatch {
 public:
  double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start_ = Clock::now();
};

}  // namespace tessera
