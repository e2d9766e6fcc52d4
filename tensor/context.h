#pragma once

#include <functional>

#include "tensor/memory.h"

namespace tessera {

class BackwardRun;
class DeferredWeightGradients;

/// What an op is about to do, or has done. Bytes are those it must read and write at least.
struct OpInfo {
  const char* name;
  double flops = 0, bytes = 0;
};

/// Who listens to ops. begin and end come around every op's forward and backward kernel, nested ones
/// included; tick comes from inside long kernels, every few ms, always on the thread that owns the
/// context. Listening changes no bits.
struct OpObserver {
  std::function<void(const OpInfo&)> begin, end;
  std::function<void()> tick;
};

/// The state of execution on this thread: all that ops read besides their arguments.
struct Context {
  bool grad_enabled = true;
  int threads = 1;                       ///< OpenMP threads that share a kernel's rows; OpenBLAS has one
  const OpObserver* observer = nullptr;  ///< not owned; null: one branch per op and no more
  /// What is under way beside compute, such as communication, gets a turn before every op, after it and at
  /// its ticks: a call takes little time, is no op and is outside what the observer sees of the op, but for
  /// ticks. Set while something is under way; not owned; null: one branch.
  const std::function<void()>* poll = nullptr;
  Ledger ledger;
  DeferredWeightGradients* deferred = nullptr;  ///< set by DeferredWeightGradients::Scope
  BackwardRun* run = nullptr;                   ///< the backward under way, if any
};
Context& context();

/// Sets a field of this thread's context for the scope's life.
template <class T>
class Scoped {
 public:
  Scoped(T& field, T value) : field_(field), before_(field) { field = value; }
  ~Scoped() { field_ = before_; }
  Scoped(const Scoped&) = delete;
  Scoped& operator=(const Scoped&) = delete;

 private:
  T& field_;
  T before_;
};

/// Within its scope ops record nothing.
struct NoGrad : Scoped<bool> {
  NoGrad() : Scoped(context().grad_enabled, false) {}
};

inline void poll() {
  if (const auto* poll = context().poll; poll != nullptr) (*poll)();
}

/// Tells the observer that an op begins and, at the end of its scope, ends.
class OpScope {
 public:
  explicit OpScope(const OpInfo& info) : observer_(context().observer), info_(info) {
    poll();
    if (observer_ != nullptr && observer_->begin) observer_->begin(info_);
  }
  ~OpScope() {
    if (observer_ != nullptr && observer_->end) observer_->end(info_);
    poll();
  }
  OpScope(const OpScope&) = delete;
  OpScope& operator=(const OpScope&) = delete;

 private:
  const OpObserver* observer_;
  OpInfo info_;
};

inline void tick() {
  if (const OpObserver* observer = context().observer; observer != nullptr && observer->tick)
    observer->tick();
  poll();
}

}  // namespace tessera
