#pragma once

#include "dist/plan/price.h"

namespace tessera::plan {

/// The prices that `automatic` goes by. Built in: processes that share memory, and 10 Gbit/s Ethernet between
/// nodes; bench collectives measures.
struct Network {
  LinkPrice node{.alpha_s = 1e-6, .beta_s_per_byte = 1.2e-10, .per_message_s = 0.3e-6};
  LinkPrice across{.alpha_s = 20e-6, .beta_s_per_byte = 8.5e-10, .per_message_s = 2e-6};
  double add_s_per_byte = 1.5e-10;  ///< of what is added, read and written in memory

  bool operator==(const Network&) const = default;
};

/// Where the ranks of a communicator are.
struct Topology {
  int ranks = 1;
  int ranks_per_node = 1;  ///< the most that share one

  int nodes() const { return (ranks + ranks_per_node - 1) / ranks_per_node; }
};

/// Seconds that a collective of `bytes` takes by an algorithm, by its closed formula: the rounds that follow
/// each other, its messages, and the bytes sent and added one after the other. Ranks of a node that send to
/// other nodes at once share its link. `bytes` are those of the whole buffer; of all_to_all, what a rank
/// sends.
/// @throws std::invalid_argument for an algorithm that the collective has not, or automatic.
double predicted_s(Kind kind, Algorithm algorithm, double bytes, const Topology& topology,
                   const Network& network);

/// The algorithm that `automatic` stands for: the one of the lowest price. A pure function, so all ranks
/// agree. Of all_to_all it takes blocks of one size for granted.
Algorithm choose_algorithm(Kind kind, double bytes, const Topology& topology, const Network& network);

}  // namespace tessera::plan
