#include "dist/comm/progress.h"

#include <sched.h>
#include <time.h>

#include <algorithm>

#include "dist/comm/execution_internal.h"
#include "dist/comm/faults_internal.h"
#include "dist/comm/watchdog_internal.h"
#include "tensor/context.h"

namespace tessera::dist {
namespace {

// How to wait for others. A small message takes 1 us, a call of sched_yield half as long. Yielding answers at
// once where each rank has a core. Where they share one, those that only yield still take their fair share of
// it from those that compute; so who has waited for long sleeps. Measured on 2 cores, mean of an 8-byte
// all_reduce of 8 ranks: 7.4 to 8.6 ms without sleeping, 2.5 ms sleeping after 100 us, 0.9 to 1.4 ms after 20
// us. But 2 ranks lose 20 to 40 % at 1 MiB by sleeping after 20 us, and nothing after 100 us. And a large
// message moves only while it is looked at, a piece at a time (64 MiB: 0.7 GB/s with sleep in between): so
// who has a core of its own stays awake for as long as its bytes may take, and yields it to no other program
// for as long as they take at best (1 MiB beside a compiler on 2 cores: 107 us, MPICH's own call 34).
class Patience {
 public:
  explicit Patience(bool crowded)
      : crowded_(crowded), spin_s_(crowded ? 0 : 20e-6), yield_s_(crowded ? 20e-6 : 100e-6) {
    reset();
  }

  void reset() {
    since_s_ = 0;
    looks_ = 0;
    spins_ = !crowded_;
  }

  /// in_flight_bytes() is asked for where it matters.
  template <class InFlight>
  void pause(InFlight in_flight_bytes) {
    if (spins_ && ++looks_ % kLooks != 0) return;
    const double time_s = now_s();
    if (since_s_ == 0) since_s_ = time_s;
    const double waited_s = time_s - since_s_;
    const double bytes = crowded_ ? 0 : static_cast<double>(in_flight_bytes());
    spins_ = waited_s < spin_s_ + kFast_s_per_byte * bytes;
    if (spins_) return;
    if (waited_s < std::max(yield_s_, kSlow_s_per_byte * bytes))
      sched_yield();
    else
      nap(std::clamp(waited_s / 8, 50e-6, 500e-6));
  }

 private:
  // Looks at what may have arrived between looks at the clock, which take half as long.
  static constexpr int kLooks = 16;
  // What bytes in flight take at memory's speed, and at most.
  static constexpr double kFast_s_per_byte = 0.25e-9, kSlow_s_per_byte = 2e-9;

  static void nap(double seconds) {
    const timespec time{0, static_cast<long>(seconds * 1e9)};
    nanosleep(&time, nullptr);
  }

  bool crowded_, spins_ = false;
  double spin_s_, yield_s_, since_s_ = 0;
  int looks_ = 0;
};

/// Tells the watchdog, if there is one, that the rank waits.
class Waiting {
 public:
  explicit Waiting(Watchdog* watchdog) : watchdog_(watchdog) {
    if (watchdog_ != nullptr) watchdog_->waits(true);
  }
  ~Waiting() {
    if (watchdog_ != nullptr) watchdog_->waits(false);
  }
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;

 private:
  Watchdog* watchdog_;
};

}  // namespace

Progress::Progress() : poll_([this] { poll(); }) {}

Progress::~Progress() {
  if (context().poll == &poll_) context().poll = nullptr;
}

void Progress::set_watchdog(std::unique_ptr<Watchdog> watchdog) { watchdog_ = std::move(watchdog); }
void Progress::set_faults(std::unique_ptr<Faults> faults) { faults_ = std::move(faults); }

void Progress::add(std::shared_ptr<Execution> execution) {
  if (watchdog_) watchdog_->begins(execution->name());
  active_.push_back(std::move(execution));
  context().poll = &poll_;
}

// Of the operation that this rank waits for, unless another one holds it up; then of the oldest.
std::string Progress::under_way() const {
  if (active_.empty()) return "nothing under way";
  auto shown = std::ranges::find_if(active_, [](const auto& e) { return e->awaited() && !e->held(); });
  if (shown == active_.end()) shown = active_.begin();
  const std::size_t others = active_.size() - 1;
  return (*shown)->describe() + (others > 0 ? "; others under way: " + std::to_string(others) : "");
}

bool Progress::advance(bool all) {
  if (busy_) return false;
  if (watchdog_) watchdog_->look([this] { return under_way(); });
  if (active_.empty()) return false;
  const Scoped<bool> busy(busy_, true);
  bool any = false;
  for (std::size_t i = 0; i < active_.size() && (all || !any); ++i) any |= active_[i]->advance();
  if (any) std::erase_if(active_, [](const auto& execution) { return execution->done(); });
  if (any && watchdog_) watchdog_->progressed();
  if (active_.empty()) context().poll = nullptr;
  return any;
}

Index Progress::in_flight_bytes() const {
  Index bytes = 0;
  for (const auto& execution : active_) bytes += execution->in_flight_bytes();
  return bytes;
}

bool Progress::poll() {
  if (recorder_ == nullptr || busy_ || active_.empty()) return advance(false);
  SpanScope span(recorder_, SpanKind::comm, "poll");
  const bool any = advance(false);
  if (any) span.rename("progress");
  return any;
}

void Progress::wait_until(const std::function<bool()>& done) {
  const Waiting waiting(watchdog_.get());
  Patience patience(crowded_);
  while (!done()) {
    if (advance(true))
      patience.reset();
    else
      patience.pause([this] { return in_flight_bytes(); });
  }
}

}  // namespace tessera::dist
