#include <chrono>
#include <csignal>
#include <cstring>
#include <thread>

#include "dist/comm/faults_internal.h"

namespace tessera::dist {
namespace {

constexpr double kDelayed = 0.25, kOverlooked = 0.25;  // shares of sends, and of looks at what has arrived

}  // namespace

void Faults::poison(void* data, Index bytes) const {
  if (options_.poison) std::memset(data, 0xff, static_cast<std::size_t>(bytes));  // NaN, or -1
}

bool Faults::before_send() {
  if (++num_sends_ == options_.killed_after) std::raise(SIGKILL);
  if (options_.delay_s > 0 && draw() < kDelayed)
    std::this_thread::sleep_for(std::chrono::duration<double>(draw() * options_.delay_s));
  return options_.synchronous_sends;
}

bool Faults::looks_away() { return options_.delay_s > 0 && draw() < kOverlooked; }

}  // namespace tessera::dist
