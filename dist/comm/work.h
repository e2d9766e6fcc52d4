#pragma once

#include <memory>

#include "dist/comm/buffer.h"
#include "dist/comm/comm.h"
#include "dist/plan/rounds.h"

namespace tessera::dist {

class Execution;

/// How messages are cut. All ranks of a call must agree on it; it changes no bit of the result.
struct Cutting {
  /// Collectives send in pieces of this size, and their rounds overlap. 128 to 512 KiB are equally fast here
  /// for many; 64 KiB take 1.3 times as long for 64 MiB, 32 KiB twice.
  Index segment_bytes = 512 << 10;
  /// What one communicator's collectives send and receive at a time.
  Index in_flight_bytes = 2 << 20;
  /// The same for one that is waited for, if it is more: then no tick comes before all of it has arrived, and
  /// where ranks share cores, each finds more to do in its turn (64 MiB on 8 ranks and 2 cores: 0.8 of the
  /// time). What is packed, or has come and waits to be added, takes as much memory.
  Index awaited_bytes = 8 << 20;
  /// No MPI message is larger. At most 2^31 - 1.
  Index message_limit_bytes = 1 << 30;
};

/// What an execution of rounds is, besides the rounds. It is counted under kind and algorithm.
struct RunOptions {
  Kind kind = Kind::all_reduce;
  Algorithm algorithm = Algorithm::direct;
  Reduction reduction = Reduction::sum;
  Cutting cutting{};
  Index bytes = -1;  ///< to record where the buffer holds more than the operation is of; -1: the buffer's
};

/// An operation under way: a value handle. Without a handle it goes on all the same.
class Work {
 public:
  /// Done.
  Work() = default;
  explicit Work(std::shared_ptr<Execution> execution) : execution_(std::move(execution)) {}

  bool done() const;
  /// Lets communication progress (Progress::poll); whether this is done now.
  bool poll() const;
  /// Returns when this is done. Everything else under way progresses, too.
  void wait() const;

 private:
  std::shared_ptr<Execution> execution_;
};

/// Executes this rank's rounds (see dist/plan/rounds.h) on `buffer`, in place.
///
/// A piece that lies in one part of the buffer travels in place; one over several parts is packed, so parts
/// smaller than a segment are, mostly. Scratch is Category::communication. Collective: all ranks of `comm`
/// bring rounds that fit together. The buffer must not be touched until the work is done.
/// @throws std::invalid_argument for cutting that cannot be.
Work run_async(const Comm& comm, Buffer buffer, plan::Rounds rounds, const RunOptions& options);
/// Rounds that the next call may need again.
using SharedRounds = std::shared_ptr<const plan::Rounds>;
Work run_async(const Comm& comm, Buffer buffer, SharedRounds rounds, const RunOptions& options);

/// Sends `buffer` to rank `to`, or receives it from rank `from`. The n-th message sent to a rank with a tag
/// is the n-th received from it with that tag, and has the same size. Not cut, except at the message limit.
/// @throws std::invalid_argument for a peer or tag out of range, or the rank itself.
Work send_async(const Comm& comm, Buffer buffer, int to, int tag = 0, const Cutting& cutting = {});
Work receive_async(const Comm& comm, Buffer buffer, int from, int tag = 0, const Cutting& cutting = {});

}  // namespace tessera::dist
