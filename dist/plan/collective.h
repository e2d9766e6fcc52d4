#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dist/plan/hierarchical.h"
#include "dist/plan/rounds.h"

/// Every collective by every algorithm, from one place.
namespace tessera::plan {

/// What a message is part of.
enum class Kind : std::uint8_t {
  point_to_point,
  all_reduce,
  reduce_scatter,
  all_gather,
  broadcast,
  reduce,
  gather,
  scatter,
  all_to_all,
  barrier
};
inline constexpr int kNumKinds = 10;
const char* to_string(Kind kind);
/// @throws std::invalid_argument that lists the names.
Kind parse_kind(const std::string& name);

/// How it travels. direct: one message from one rank to another. automatic stands for one of the others
/// (automatic.h).
enum class Algorithm : std::uint8_t {
  automatic,
  direct,
  ring,
  recursive_doubling,
  halving_doubling,
  binomial,
  bruck,
  pairwise,
  hierarchical,
  dissemination
};
inline constexpr int kNumAlgorithms = 10;
const char* to_string(Algorithm algorithm);
/// @throws std::invalid_argument that lists the names.
Algorithm parse_algorithm(const std::string& name);

/// The algorithms a collective has; none for point_to_point.
std::vector<Algorithm> algorithms_of(Kind kind);
bool has_algorithm(Kind kind, Algorithm algorithm);
/// Their names, and automatic's: "automatic, ring, bruck".
std::string algorithm_names(Kind kind);

/// A collective, as one rank calls it.
struct Call {
  Kind kind = Kind::barrier;
  int rank = 0, ranks = 1;
  Index count = 0;  ///< elements of the caller's buffer
  /// Of reduce_scatter, all_gather, gather, scatter: each rank's part. Of all_to_all: what goes to each rank,
  /// then what comes from each. Others have none.
  std::vector<Range> parts{};
  int root = 0;
  Nodes nodes{};  ///< needed by hierarchical alone
};

/// What is to be executed: rounds on a buffer made of ranges of the caller's, in order, and of workspace
/// after them.
struct Schedule {
  Rounds rounds;
  std::vector<Range> order{};  ///< empty: the caller's buffer as it is
  Index workspace = 0;
};

/// This rank's part of a collective by an algorithm other than automatic.
/// @throws std::invalid_argument for an algorithm that the collective has not, bruck's all_to_all with blocks
/// of different sizes, and what the algorithm's own function refuses.
Schedule schedule(const Call& call, Algorithm algorithm);
/// What it sends and receives: the algorithm's closed form.
Traffic schedule_traffic(const Call& call, Algorithm algorithm);

}  // namespace tessera::plan
