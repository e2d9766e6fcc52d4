// What an execution tells the recorder.

#include "dist/comm/execution_internal.h"
#include "dist/plan/rounds.h"

namespace tessera::dist {

std::shared_ptr<const Channel> channel_of(CommState& state) {
  if (state.channel == nullptr) {
    state.channel = std::make_shared<const Channel>(
        Channel{state.name.axis, state.name.purpose, state.key, state.rank, state.world_ranks, state.nodes});
  }
  return state.channel;
}

// One that is no longer there is not told the end.
Recorder* Execution::recorder() const {
  return operation_ >= 0 && comm_->progress->recorder() == recorder_ ? recorder_ : nullptr;
}

void Execution::record() {
  if (comm_->size() == 1) return;
  recorder_ = comm_->progress->recorder();
  Operation operation{.channel = channel_of(*comm_),
                      .name = to_string(options_.kind),
                      .algorithm = to_string(options_.algorithm),
                      .bytes = options_.bytes >= 0 ? options_.bytes : buffer_.bytes(buffer_.count())};
  if (collective()) {
    operation.order = comm_->num_collectives - 1;
  } else {
    const plan::Step& step = rounds_.front().front();
    const bool sends = step.to >= 0;
    operation.from = sends ? comm_->rank : step.from;
    operation.to = sends ? step.to : comm_->rank;
    operation.tag = tag_;
    operation.order = recorder_->next_order(*operation.channel, operation.from, operation.to, tag_);
  }
  const plan::Volume sent = plan::traffic(rounds_).sent;
  operation.messages_sent = sent.messages;
  operation.bytes_sent = buffer_.bytes(sent.elements);
  operation_ = recorder_->begin_operation(std::move(operation));
}

void Execution::record_end() {
  if (Recorder* to = recorder(); to != nullptr) to->end_operation(operation_);
}

// Before MPI has it: afterwards this rank may lose its core, and the other one see it come earlier.
void Execution::record_posted(Piece& piece) const {
  Recorder* to = recorder();
  if (to == nullptr || !to->detailed()) return;
  piece.transfer = to->next_transfer();
  piece.posted_s = now_s();
}

void Execution::record_arrived(const Piece& piece) const {
  Recorder* to = recorder();
  if (to == nullptr || piece.transfer < 0) return;
  to->add({.operation = operation_,
           .peer = piece.peer,
           .sent = piece.direction == Direction::send,
           .order = piece.transfer,
           .bytes = piece.bytes,
           .begin_s = piece.posted_s,
           .end_s = now_s()});
}

}  // namespace tessera::dist
