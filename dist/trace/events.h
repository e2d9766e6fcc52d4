#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

/// What happened on a rank, as it happened: no MPI, no tensors, so that comm can record. Names are string
/// literals or live as long; times are those of now_s().
namespace tessera::dist {

/// Seconds of a steady clock.
double now_s();

/// What the rank's thread was busy with. step: a whole training step. data: making the batch. op: an op of
/// tensor/. comm: starting an operation or polling those under way. wait: for an operation to be done.
enum class SpanKind : std::uint8_t { step, data, op, comm, wait };
const char* to_string(SpanKind kind);

/// Spans of a rank nest, and are recorded when they end: inner ones first.
struct Span {
  const char* name = "";
  double begin_s = 0, end_s = 0;
  double flops = 0;          ///< of an op
  std::int64_t number = -1;  ///< of a step; of a wait: the operation waited for; -1: none
  SpanKind kind = SpanKind::op;

  double seconds() const { return end_s - begin_s; }
};

/// A communicator: ranks of one group have channels of equal key, no others have.
struct Channel {
  std::string axis{}, purpose{};
  std::uint64_t key = 0;
  int rank = 0;  ///< this rank's place among them
  std::vector<int> world_ranks = {0};
  std::vector<int> nodes = {0};  ///< number of each rank's node
};

/// Communication under way: a collective, or a message from one rank to another. It has begun when this rank
/// has asked for it; it has *arrived* when the last of its participants has.
struct Operation {
  std::shared_ptr<const Channel> channel{};
  const char* name = "";  ///< of its kind
  const char* algorithm = "";
  /// Equal on all participants, and on no other operation of the channel with the same peers and tag.
  std::int64_t order = 0;
  int from = -1, to = -1, tag = -1;  ///< of a message; places in the channel
  std::int64_t bytes = 0;            ///< of the buffer
  double begin_s = 0, end_s = 0;     ///< the end is 0 until it is over
  std::int64_t messages_sent = 0, bytes_sent = 0;

  bool collective() const { return from < 0; }
};

/// A piece of a message on its way, from when it was posted until it was seen to be sent, or to have come.
struct Transfer {
  std::int64_t operation = 0;
  int peer = 0;            ///< place in the channel
  bool sent = false;       ///< else received
  std::int64_t order = 0;  ///< those of one operation, peer and direction are posted in this order
  std::int64_t bytes = 0;
  double begin_s = 0, end_s = 0;
};

/// Records what happens on this rank, into memory taken beforehand. Costs a clock read and a store per end
/// of a span. Whoever may record holds a pointer to one; null: a branch, and nothing else.
class Recorder {
 public:
  explicit Recorder(std::size_t capacity = std::size_t{1} << 14);

  /// Whether pieces of messages are recorded, too: for a timeline, not for accounts.
  bool detailed() const { return detailed_; }
  void set_detailed(bool detailed) { detailed_ = detailed; }

  /// A span begins, within the last one that has not ended.
  void open() { open_.push_back(now_s()); }
  /// The last span that was opened ends.
  void close(SpanKind kind, const char* name, double flops = 0, std::int64_t number = -1);

  /// @return the operation's number, for what follows.
  std::int64_t begin_operation(Operation operation);
  void end_operation(std::int64_t number) { operations_[static_cast<std::size_t>(number)].end_s = now_s(); }
  /// How many messages between these two have begun with this tag: the next one's order.
  std::int64_t next_order(const Channel& channel, int from, int to, int tag);
  void add(const Transfer& transfer) { transfers_.push_back(transfer); }
  std::int64_t next_transfer() { return num_transfers_++; }

  const std::vector<Span>& spans() const { return spans_; }
  const std::vector<Operation>& operations() const { return operations_; }
  const std::vector<Transfer>& transfers() const { return transfers_; }

  /// Forgets all of it, keeps the memory. Call while nothing is under way and no span is open.
  void clear();

 private:
  bool detailed_ = false;
  std::vector<double> open_;  // when the open spans began, outermost first
  std::vector<Span> spans_;
  std::vector<Operation> operations_;
  std::vector<Transfer> transfers_;
  std::int64_t num_transfers_ = 0;
  std::map<std::tuple<std::uint64_t, int, int, int>, std::int64_t>
      messages_;  // so far: channel, from, to, tag
};

/// A span of its own life. Of a null recorder: nothing.
class SpanScope {
 public:
  SpanScope(Recorder* recorder, SpanKind kind, const char* name, std::int64_t number = -1)
      : recorder_(recorder), kind_(kind), name_(name), number_(number) {
    if (recorder_ != nullptr) recorder_->open();
  }
  ~SpanScope() {
    if (recorder_ != nullptr) recorder_->close(kind_, name_, 0, number_);
  }
  SpanScope(const SpanScope&) = delete;
  SpanScope& operator=(const SpanScope&) = delete;

  void rename(const char* name) { name_ = name; }

 private:
  Recorder* recorder_;
  SpanKind kind_;
  const char* name_;
  std::int64_t number_;
};

}  // namespace tessera::dist
