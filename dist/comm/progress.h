#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "dist/trace/events.h"
#include "tensor/shape.h"

namespace tessera::dist {

class Execution;
class Faults;
class Watchdog;

/// Everything that is under way on this rank, and the only place where it waits: MPICH's own blocking calls
/// spin, which ruins a machine with more ranks than cores.
class Progress {
 public:
  Progress();
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Does at most one segment's work, of the oldest operation that has some; whether it did. Does nothing
  /// from within itself. While something is under way, ops and their ticks call it (Context::poll), so that
  /// communication overlaps compute.
  bool poll();
  /// Makes progress until done(); in between yields the processor, and after a while sleeps for short times.
  void wait_until(const std::function<bool()>& done);
  /// Whether nothing is under way.
  bool idle() const { return active_.empty(); }

  /// Whether ranks share cores here, so that waiting for long takes time from others.
  void set_crowded(bool crowded) { crowded_ = crowded; }

  /// From now on `execution` makes progress here, and lives until it is done.
  void add(std::shared_ptr<Execution> execution);

  /// From now on waits, polls and what is under way are recorded; null: no longer. Not owned.
  void set_recorder(Recorder* recorder) { recorder_ = recorder; }
  Recorder* recorder() const { return recorder_; }

  // Diagnosis (diagnosis.h): off until they are called.
  void set_watchdog(std::unique_ptr<Watchdog> watchdog);
  void set_checked(bool checked) { checked_ = checked; }
  bool checked() const { return checked_; }
  /// What tests do to this rank's messages; null: nothing.
  void set_faults(std::unique_ptr<Faults> faults);
  Faults* faults() const { return faults_.get(); }

 private:
  bool advance(bool all);
  Index in_flight_bytes() const;
  std::string under_way() const;

  const std::function<void()> poll_;  // what Context::poll points at

  std::vector<std::shared_ptr<Execution>> active_;  // oldest first
  bool busy_ = false, crowded_ = true, checked_ = false;
  Recorder* recorder_ = nullptr;
  std::unique_ptr<Faults> faults_;
  std::unique_ptr<Watchdog> watchdog_;
};

}  // namespace tessera::dist
