#include "dist/trace/accountant.h"

#include <span>

#include "dist/comm/collectives.h"
#include "dist/comm/progress.h"
#include "dist/trace/chrome_trace.h"
#include "dist/trace/comm_accounts.h"

namespace tessera::dist {
namespace {

/// Rank 0's now.
double common_now_s(const Comm& comm) {
  double time_s = now_s();
  broadcast(comm, std::span<double>(&time_s, 1), 0);
  return time_s;
}

/// Of one span. Touches the recorder's memory for the first time, besides.
double measure_event_s(Recorder& recorder) {
  constexpr int kEvents = 1 << 14;
  const double begin_s = now_s();
  for (int i = 0; i < kEvents; ++i) {
    recorder.open();
    recorder.close(SpanKind::op, "");
  }
  const double seconds = now_s() - begin_s;
  recorder.clear();
  return seconds / kEvents;
}

}  // namespace

Accountant::Accountant(const Comm& world, Index traced_steps)
    : comm_(duplicate(world, {"world", "accounts"})),
      traced_steps_(traced_steps),
      event_cost_s_(measure_event_s(recorder_)),
      clock_(compare_clocks(comm_)),
      origin_s_(common_now_s(comm_)),
      recording_(recorder_) {
  set_detailed();
  comm_.progress().set_recorder(&recorder_);
}

Accountant::~Accountant() { comm_.progress().set_recorder(nullptr); }

void Accountant::step_done() {
  ++num_steps_;
  if (++num_unsettled_ == kStepsPerSettlement || num_steps_ == traced_steps_) settle();
}

void Accountant::settle() {
  Progress& progress = comm_.progress();
  progress.wait_until([&] { return progress.idle(); });
  progress.set_recorder(nullptr);
  clock_ = compare_clocks(comm_);
  account(exchange_arrivals(comm_, recorder_.operations(), clock_));
  recorder_.clear();
  num_unsettled_ = 0;
  set_detailed();
  progress.set_recorder(&recorder_);
}

double Accountant::events_per_step() const {
  return num_steps_ > 0 ? static_cast<double>(num_events_) / static_cast<double>(num_steps_) : 0;
}

void Accountant::account(const Arrivals& arrivals) {
  const double to_origin_s = clock_.offset_s - origin_s_;
  for (StepAccount step : split_steps(recorder_.spans(), recorder_.operations(), arrivals)) {
    step.begin_s += to_origin_s;
    steps_.push_back(step);
  }
  for (std::size_t i = 0; i < memory_.size(); ++i) {
    const auto category = static_cast<Category>(i);
    memory_[i] = {context().ledger.current_bytes(category), context().ledger.peak_bytes(category)};
  }
  num_events_ += std::ssize(recorder_.spans()) + std::ssize(recorder_.operations());
  add_operations(comms_, recorder_.operations(), arrivals, comm_.network());
  if (recorder_.detailed()) timeline_ += chrome_events(recorder_, arrivals, comm_.rank(), to_origin_s);
}

}  // namespace tessera::dist
