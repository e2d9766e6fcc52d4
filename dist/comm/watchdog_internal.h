#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "dist/comm/mpi_internal.h"

namespace tessera::dist {

/// Ends a job that hangs, and has its ranks say what each waits for: see Diagnosis.
///
/// Its thread calls no MPI and never touches what is under way. It knows when there was progress last, and
/// then asks the rank's own thread, which looks here whenever it looks at its messages; if there is no
/// answer, that one computes, or is inside a call that does not return. Who waits and is asked tells the
/// other ranks, so that they speak up although their own time has not come.
class Watchdog {
 public:
  /// Owns `notices`, a communicator of all ranks for nothing else.
  Watchdog(MPI_Comm notices, double patience_s);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  // All for the rank's own thread.
  /// Something was sent, has arrived or is done.
  void progressed();
  /// `operation` begins.
  void begins(std::string operation);
  /// The rank does nothing but wait, or no longer.
  void waits(bool waiting);
  /// Answers if somebody asks. @param under_way says what is under way here; empty: nothing
  void look(const std::function<std::string()>& under_way);

 private:
  void watch();
  void bite(std::unique_lock<std::mutex>& lock);
  void tell(const std::string& text);
  void notify_others();
  double quiet_s() const;

  const double patience_s_;
  std::atomic<bool> asked_ = false, ending_ = false;

  MPI_Comm notices_;  // of the rank's own thread
  MPI_Request notice_ = MPI_REQUEST_NULL;
  char from_others_ = 0, to_others_ = 0;

  std::mutex mutex_;  // of all below
  std::condition_variable changed_;
  double last_s_;  // of progress
  std::string last_operation_;
  bool waiting_ = false, told_ = false, ended_ = false;

  std::thread thread_;  // last: it begins when all else is there
};

}  // namespace tessera::dist
