#pragma once

#include <array>
#include <deque>
#include <memory>
#include <vector>

#include "dist/comm/comm.h"
#include "dist/comm/mpi_internal.h"
#include "dist/trace/events.h"

namespace tessera::dist {

class Execution;

/// What a Comm is a handle on.
struct CommState {
  CommState(MPI_Comm mpi_comm, std::shared_ptr<Progress> progress_of_job)
      : mpi(mpi_comm), progress(std::move(progress_of_job)) {}
  /// Frees the MPI communicator unless MPI has ended.
  ~CommState();
  CommState(const CommState&) = delete;
  CommState& operator=(const CommState&) = delete;

  MPI_Comm mpi;  ///< may have ranks of other groups, too; MPI_COMM_NULL for a single rank
  std::shared_ptr<Progress> progress;
  std::shared_ptr<plan::Network> network = std::make_shared<plan::Network>();  ///< one for all of the job

  /// What the last collective of each kind and algorithm was, and what it came to: many are like the one
  /// before, and to work it out takes as long as a small message.
  struct LastSchedule {
    Index count = -1;
    int root = 0;
    std::vector<plan::Range> parts{};  ///< as the caller gave them; none if it gave none
    std::shared_ptr<const plan::Schedule> schedule{};
  };
  std::array<std::array<LastSchedule, kNumAlgorithms>, kNumKinds> schedules{};

  /// The last answer to what automatic stands for, by kind.
  struct Choice {
    Index bytes = -1;
    Algorithm algorithm = Algorithm::automatic;
    plan::Network network{};
  };
  std::array<Choice, kNumKinds> choices{};
  int rank = 0;
  std::vector<int> mpi_ranks = {0};    ///< of each rank, in `mpi`
  std::vector<int> world_ranks = {0};  ///< of each rank, in the job
  std::vector<int> nodes = {0};        ///< of each rank; see set_nodes
  plan::Nodes ranks_by_node = {{0}};
  int ranks_per_node = 1;  ///< the most that share one
  int cores_on_node = 1;
  CommName name;
  std::array<std::array<Counter, kNumAlgorithms>, kNumKinds> counters{};

  std::uint64_t key = 0;                     ///< equal on its ranks; no other communicator has it
  std::uint64_t num_groups = 0;              ///< made of it so far
  std::shared_ptr<const Channel> channel{};  ///< made by channel_of

  Index num_agreements = 0;  ///< begun so far in the checked mode; their messages count apart from ours
  Counter agreements{};

  Index num_collectives = 0;                 ///< begun so far
  std::deque<const Execution*> collectives;  ///< those not finished, oldest first
  Index in_flight_bytes = 0;                 ///< of all collectives here

  /// What MPI_Testsome fills in: one for all executions here, as they are looked at one after the other.
  std::vector<MPI_Status> statuses{};
  std::vector<int> completed{};

  plan::Topology topology() const { return {size(), ranks_per_node}; }
  int size() const { return static_cast<int>(mpi_ranks.size()); }
  Counter& counter(Kind kind, Algorithm algorithm) {
    return counters[static_cast<std::size_t>(kind)][static_cast<std::size_t>(algorithm)];
  }
};

/// What recorders call this communicator.
std::shared_ptr<const Channel> channel_of(CommState& state);

/// Sets which node each rank of `state` is on.
void set_nodes(CommState& state, std::vector<int> nodes);

/// A duplicate of `mpi`, made while `progress` runs. Collective over its ranks.
MPI_Comm duplicate_mpi(MPI_Comm mpi, Progress& progress);

/// The communicator of `members`, ranks of `comm` with this one among them, in their order. Collective over
/// comm, whose ranks are all in exactly one group; all_alone: each has one of its own.
Comm group(const Comm& comm, const std::vector<int>& members, bool all_alone, CommName name);

}  // namespace tessera::dist
