#include "dist/comm/work.h"

#include <limits>

#include "dist/comm/agreement_internal.h"
#include "dist/comm/execution_internal.h"
#include "dist/comm/progress.h"
#include "tensor/check.h"

namespace tessera::dist {
namespace {

void check_cutting(const char* op, const Cutting& cutting, Element element) {
  const Index smallest = bytes_of(element), largest = std::numeric_limits<int>::max();
  check(cutting.segment_bytes >= smallest, op, "segments of ", cutting.segment_bytes,
        " bytes for elements of ", smallest);
  check(cutting.message_limit_bytes >= smallest && cutting.message_limit_bytes <= largest, op,
        "a message limit of ", cutting.message_limit_bytes, " bytes, expected ", smallest, " to ", largest);
  check(cutting.in_flight_bytes > 0 && cutting.awaited_bytes > 0, op, cutting.in_flight_bytes,
        " bytes in flight, ", cutting.awaited_bytes, " awaited");
}

// Tags are used again when their last use here is over. Then it is, or will be first, on the other ranks too:
// messages with one tag do not overtake each other.
int next_tag(CommState& state) {
  if (state.collectives.size() >= Comm::kNumTags)
    state.progress->wait_until([&] { return state.collectives.size() < Comm::kNumTags; });
  return Comm::kNumTags + static_cast<int>(state.num_collectives++ % Comm::kNumTags);
}

Work message(const char* op, const Comm& comm, Buffer buffer, int peer, int tag, const Cutting& cutting,
             bool sends) {
  check_cutting(op, cutting, buffer.element());
  check(peer >= 0 && peer < comm.size() && peer != comm.rank(), op, "rank ", comm.rank(), " with rank ", peer,
        " of ", comm.size());
  check(tag >= 0 && tag < Comm::kNumTags, op, "tag ", tag, ", expected 0 to ", Comm::kNumTags - 1);
  const plan::Range all{0, buffer.count()};
  const plan::Step step =
      sends ? plan::Step{.send = all, .to = peer} : plan::Step{.receive = all, .from = peer};
  const RunOptions options{.kind = Kind::point_to_point, .cutting = cutting};
  auto execution = std::make_shared<Execution>(
      comm.shared_state(), std::move(buffer), std::make_shared<const plan::Rounds>(plan::Rounds{{step}}),
      options, tag, comm.state().counter(options.kind, options.algorithm));
  if (comm.progress().recorder() != nullptr) execution->record();
  return Work(start(std::move(execution)));
}

}  // namespace

std::shared_ptr<Execution> start(std::shared_ptr<Execution> execution) {
  const SpanScope span(execution->progress().recorder(), SpanKind::comm, "start");
  execution->start();
  if (!execution->done()) execution->progress().add(execution);
  return execution;
}

bool Work::done() const { return execution_ == nullptr || execution_->done(); }

bool Work::poll() const {
  if (!done()) execution_->progress().poll();
  return done();
}

void Work::wait() const {
  if (done()) return;
  execution_->await();
  const SpanScope span(execution_->progress().recorder(), SpanKind::wait, execution_->kind(),
                       execution_->operation());
  execution_->progress().wait_until([this] { return execution_->done(); });
}

Work run_async(const Comm& comm, Buffer buffer, plan::Rounds rounds, const RunOptions& options) {
  return run_async(comm, std::move(buffer), std::make_shared<const plan::Rounds>(std::move(rounds)), options);
}

Work run_async(const Comm& comm, Buffer buffer, SharedRounds rounds, const RunOptions& options) {
  check_cutting(to_string(options.kind), options.cutting, buffer.element());

  CommState& state = comm.state();
  std::function<bool()> ready;
  if (state.progress->checked() && comm.size() > 1) {
    ready = begin_agreement(comm, buffer, options, next_tag(state));
  }
  auto execution =
      std::make_shared<Execution>(comm.shared_state(), std::move(buffer), std::move(rounds), options,
                                  next_tag(state), state.counter(options.kind, options.algorithm));
  execution->start_when(std::move(ready));
  if (state.progress->recorder() != nullptr) execution->record();
  return Work(start(std::move(execution)));
}

Work send_async(const Comm& comm, Buffer buffer, int to, int tag, const Cutting& cutting) {
  return message("send", comm, std::move(buffer), to, tag, cutting, true);
}

Work receive_async(const Comm& comm, Buffer buffer, int from, int tag, const Cutting& cutting) {
  return message("receive", comm, std::move(buffer), from, tag, cutting, false);
}

}  // namespace tessera::dist
