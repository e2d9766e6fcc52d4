#pragma once

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "dist/comm/buffer.h"
#include "dist/comm/comm_internal.h"
#include "dist/comm/faults_internal.h"
#include "dist/comm/progress.h"
#include "dist/comm/work.h"
#include "dist/plan/rounds.h"
#include "tensor/storage.h"

namespace tessera::dist {

/// The state of rounds being executed.
///
/// Messages are cut into segments. What is posted together is a *group*: the k-th segment of every message of
/// a round. Groups are posted in order, (round, k), each as soon as there is room for it among the bytes in
/// flight and its data is there; a group need not wait for earlier ones to finish, so rounds overlap. Within
/// a group receives are posted in step order, and sends are, so that the n-th piece from a to b meets b's
/// n-th from a.
///
/// No deadlock: a group waits for nothing but earlier groups (by induction those finish on all ranks), and
/// all of its pieces are posted without waiting for each other.
class Execution {
 public:
  /// @param counter what the messages count as
  Execution(std::shared_ptr<CommState> comm, Buffer buffer, SharedRounds rounds, const RunOptions& options,
            int tag, Counter& counter);

  /// Posts nothing until ready() is true; held() until then.
  void start_when(std::function<bool()> ready) { ready_ = std::move(ready); }
  bool held() const { return ready_ != nullptr; }

  /// Posts what can be posted now.
  void start();
  /// Does at most one segment's work; whether anything happened.
  bool advance();
  /// From now on this rank does nothing but wait for it.
  void await() { awaited_ = true; }
  bool awaited() const { return awaited_; }
  Index in_flight_bytes() const { return in_flight_bytes_; }
  bool done() const { return done_; }
  Progress& progress() { return *comm_->progress; }

  const char* kind() const { return to_string(options_.kind); }
  /// Has the progress's recorder told of it, from now to its end. Call before start().
  void record();
  /// Its number there; -1: none.
  std::int64_t operation() const { return operation_; }

  /// "all_reduce (ring) on dp gradients"
  std::string name() const;
  /// name(), and which ranks of the job it waits for.
  std::string describe() const;

 private:
  enum class Direction { send, receive };

  // A posted piece: until it is sent, or received and combined.
  struct Piece {
    Direction direction = Direction::send;
    plan::Range range{};  // of the buffer; empty for a packed send, which the buffer need not wait for
    std::size_t round = 0;
    int peer = -1;
    Index bytes = 0;
    plan::Combine combine = plan::Combine::copy;
    std::byte* packed = nullptr;         // null: in place
    std::unique_ptr<Storage> storage{};  // of packed, unless it is small
    bool arrived = false;
    std::int64_t transfer = -1;  // where it is recorded: its number, and when it was posted
    double posted_s = 0;
  };

  bool all_posted() const { return round_ == rounds_.size(); }
  bool collective() const { return options_.kind != Kind::point_to_point; }
  plan::Range segment(const plan::Range& message) const;
  bool room() const;
  bool can_combine(const Piece& piece) const;
  bool can_send(const plan::Range& range) const;
  bool can_overwrite(const plan::Range& range) const;

  bool collect();
  bool combine_one();
  bool post();
  bool post_receive(const plan::Step& step);
  bool post_send(const plan::Step& step);
  bool copy_here(const plan::Range& source, const plan::Range& target);
  bool may_work(Index bytes);
  Piece& add_piece(Direction direction, const plan::Range& range, int peer);
  std::byte* scratch_for(Piece& piece);
  void count_in_flight(Index bytes);
  void next_group();
  void drop_finished();
  void finish_if_done();
  Recorder* recorder() const;
  void record_posted(Piece& piece) const;
  void record_arrived(const Piece& piece) const;
  void record_end();
  Faults* faults() const { return comm_->progress->faults(); }  // null but in tests
  void check_size(const Piece& piece, const MPI_Status& status) const;

  std::shared_ptr<CommState> comm_;
  Buffer buffer_;
  SharedRounds shared_rounds_;
  const plan::Rounds& rounds_;  // those
  RunOptions options_;
  int tag_;
  Index segment_size_;  // elements
  Counter& counter_;
  std::function<bool()> ready_;
  std::int64_t operation_ = -1;
  Recorder* recorder_ = nullptr;  // that of operation_

  std::size_t round_ = 0, next_receive_ = 0, next_send_ = 0;  // the group being posted, and its steps
  Index segment_ = 0;

  std::vector<Piece> pieces_;
  std::vector<MPI_Request> requests_;  // one per piece; null once it has arrived
  Index in_flight_bytes_ = 0;
  int num_requests_ = 0;
  bool awaited_ = false, done_ = false;
  // Scratch of the first small pieces. With it an execution still is under 1 KiB, and no more aligned than
  // malloc does it by itself: memory for it costs a tenth of what an 8-byte collective takes otherwise.
  alignas(16) std::array<std::byte, 256> small_;
  Index small_used_ = 0;
  Index worked_bytes_ = 0;  // what this advance() has packed, copied and combined
};

/// Starts it, and has it make progress until it is done.
std::shared_ptr<Execution> start(std::shared_ptr<Execution> execution);

}  // namespace tessera::dist
