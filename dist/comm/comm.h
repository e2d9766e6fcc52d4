#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "dist/plan/automatic.h"
#include "dist/plan/collective.h"
#include "tensor/shape.h"

namespace tessera::dist {

class Progress;
struct CommState;

using plan::Algorithm;
using plan::Kind;
using plan::kNumAlgorithms;
using plan::kNumKinds;
using plan::parse_algorithm;
using plan::to_string;

/// What this rank has sent and received. A message is one of a round's; it travels as one piece
/// or more. Bytes are payload.
struct Counter {
  Index calls = 0;
  Index messages_sent = 0, bytes_sent = 0, pieces_sent = 0;
  Index messages_received = 0, bytes_received = 0, pieces_received = 0;

  Counter& operator+=(const Counter& other);
};

/// Who a communicator is for: a mesh axis, and what travels there.
struct CommName {
  std::string axis, purpose;
};
/// "dp gradients"
std::string to_string(const CommName& name);

/// A group of ranks, and this one's place in it: a value handle. Has messages of its own: those of two
/// communicators never meet, not even over the same ranks. All use is from the thread that called launch().
///
/// Collectives on one communicator must begin in the same order on all its ranks; they may end in any.
class Comm {
 public:
  /// A point-to-point message has a tag in [0, kNumTags); as many are for collectives, and together they are
  /// what every MPI has: 0 to 32767.
  static constexpr int kNumTags = 16384;

  /// Undefined: no ranks.
  Comm() = default;
  explicit Comm(std::shared_ptr<CommState> state) : state_(std::move(state)) {}

  bool defined() const { return state_ != nullptr; }
  int rank() const;
  int size() const;
  const CommName& name() const;
  /// Rank in the whole job of each of these ranks.
  const std::vector<int>& world_ranks() const;
  /// Number of the node that each of these ranks is on: those with equal numbers share its memory and cores.
  const std::vector<int>& nodes() const;
  /// How many of these ranks are on this one's node, itself included.
  int ranks_on_node() const;
  /// Cores there that the ranks of the job may use, together.
  int cores_on_node() const;

  /// What this rank has done here, in all and by kind and algorithm.
  Counter counter() const;
  Counter counter(Kind kind) const;
  const Counter& counter(Kind kind, Algorithm algorithm) const;

  /// What Algorithm::automatic goes by.
  const plan::Network& network() const;

  /// Where this communicator's messages make progress; one for all of the job.
  Progress& progress() const;
  CommState& state() const { return *state_; }
  const std::shared_ptr<CommState>& shared_state() const { return state_; }

 private:
  std::shared_ptr<CommState> state_;
};

/// The ranks of `comm` that give the same color, in order of key, then of rank.
///
/// Collective over comm. One all_gather of 2 elements per rank, then a duplicate of the MPI communicator,
/// made without spinning (14 against 130 ms for MPI_Comm_split, 8 ranks on 2 cores): groups of different
/// colors share it, since no two ranks are in both. To split such a group again takes MPI's blocking call.
/// Ranks that are alone need no MPI communicator.
Comm split(const Comm& comm, int color, int key, CommName name);
/// The same ranks, for another purpose.
Comm duplicate(const Comm& comm, CommName name);
/// The same ranks, taken to be on nodes of these numbers: to test and to measure what is meant for several.
Comm duplicate_as_if_on(const std::vector<int>& nodes, const Comm& comm, CommName name);

/// From now on Algorithm::automatic goes by `network`, on all communicators of the job. All ranks do so, at
/// the same point of the program.
void set_network(const Comm& comm, const plan::Network& network);

}  // namespace tessera::dist
