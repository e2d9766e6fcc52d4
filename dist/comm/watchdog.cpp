#include <unistd.h>

#include <chrono>
#include <iomanip>
#include <sstream>

#include "dist/comm/abort_internal.h"
#include "dist/comm/progress.h"
#include "dist/comm/watchdog_internal.h"

namespace tessera::dist {
namespace {

constexpr double kAnswer_s = 0.2;  // how long the rank's own thread may take, if it waits
constexpr double kOthers_s = 1;    // how long other ranks have to say what they wait for
constexpr double kAbort_s = 2;     // how long the rank's own thread has to end the job in MPI's way

std::chrono::duration<double> seconds(double s) { return std::chrono::duration<double>(s); }

}  // namespace

Watchdog::Watchdog(MPI_Comm notices, double patience_s)
    : patience_s_(patience_s), notices_(notices), last_s_(now_s()) {
  require_success(MPI_Irecv(&from_others_, 1, MPI_CHAR, MPI_ANY_SOURCE, 0, notices_, &notice_), "MPI_Irecv");
  thread_ = std::thread([this] { watch(); });
}

Watchdog::~Watchdog() {
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  changed_.notify_all();
  thread_.join();
  int over = 0;
  if (MPI_Finalized(&over) != MPI_SUCCESS || over != 0) return;
  if (notice_ != MPI_REQUEST_NULL && MPI_Cancel(&notice_) == MPI_SUCCESS)
    MPI_Wait(&notice_, MPI_STATUS_IGNORE);
  MPI_Comm_free(&notices_);
}

// ---- the rank's own thread ----

void Watchdog::progressed() {
  const std::lock_guard lock(mutex_);
  last_s_ = now_s();
  told_ = false;
}

void Watchdog::begins(std::string operation) {
  const std::lock_guard lock(mutex_);
  last_s_ = now_s();
  last_operation_ = std::move(operation);
  told_ = false;
}

void Watchdog::waits(bool waiting) {
  const std::lock_guard lock(mutex_);
  last_s_ = now_s();
  waiting_ = waiting;
  told_ = false;
}

void Watchdog::look(const std::function<std::string()>& under_way) {
  if (ending_) abort_job(1);
  int noticed = 0;
  if (notice_ != MPI_REQUEST_NULL)
    require_success(MPI_Test(&notice_, &noticed, MPI_STATUS_IGNORE), "MPI_Test");
  const bool asked = asked_.exchange(false);
  if (noticed == 0 && !asked) return;
  if (asked) notify_others();
  const std::lock_guard lock(mutex_);
  if (!told_) tell(under_way());
}

void Watchdog::notify_others() {
  int ranks = 0, rank = 0;
  require_success(MPI_Comm_size(notices_, &ranks), "MPI_Comm_size");
  require_success(MPI_Comm_rank(notices_, &rank), "MPI_Comm_rank");
  for (int other = 0; other < ranks; ++other) {
    MPI_Request request = MPI_REQUEST_NULL;
    if (other == rank) continue;
    require_success(MPI_Isend(&to_others_, 1, MPI_CHAR, other, 0, notices_, &request), "MPI_Isend");
    require_success(MPI_Request_free(&request), "MPI_Request_free");
  }
}

// ---- both; the mutex is held ----

double Watchdog::quiet_s() const { return now_s() - last_s_; }

void Watchdog::tell(const std::string& text) {
  std::ostringstream line;
  line << "watchdog: no progress for " << std::fixed << std::setprecision(1) << quiet_s() << " s: " << text;
  say(as_rank(line.str()));
  told_ = true;
  changed_.notify_all();
}

// ---- its own thread ----

void Watchdog::watch() {
  std::unique_lock lock(mutex_);
  while (!ended_) {
    if (const double left_s = patience_s_ - quiet_s(); left_s > 0)
      changed_.wait_for(lock, seconds(left_s));
    else
      bite(lock);
  }
}

void Watchdog::bite(std::unique_lock<std::mutex>& lock) {
  const double since_s = last_s_;
  const auto over = [&] { return ended_ || last_s_ != since_s; };
  if (waiting_) {
    asked_ = true;
    changed_.wait_for(lock, seconds(kAnswer_s), [&] { return told_ || over(); });
  }
  if (over()) return;
  if (!told_) {
    const std::string last = last_operation_.empty() ? "none" : last_operation_;
    tell(waiting_ ? "inside a call that does not return; the last operation was " + last
                  : "computing, or stuck outside communication; the last operation was " + last);
  }
  // A rank that does not wait may just compute; if it keeps others from their work, they end the job.
  // Progress notifies nobody, which would cost the rank's own thread.
  if (!waiting_) {
    while (!over()) changed_.wait_for(lock, seconds(kAnswer_s));
    return;
  }
  if (changed_.wait_for(lock, seconds(kOthers_s), over)) return;
  ending_ = true;
  changed_.wait_for(lock, seconds(kAbort_s), [] { return false; });
  _exit(1);
}

}  // namespace tessera::dist
