#include "dist/plan/automatic.h"

#include "dist/plan/require.h"

namespace tessera::plan {
namespace {

// Hierarchical: its stages on a node, and across nodes on `across` of the bytes.
double staged_s(Kind kind, double bytes, const Topology& t, const Network& n) {
  const auto on_node = [&](Kind stage, Algorithm algorithm) {
    return path_of(stage, algorithm, t.ranks_per_node).seconds(bytes, n.node, n.add_s_per_byte);
  };
  const auto across = [&](Kind stage, Algorithm algorithm) {
    return path_of(stage, algorithm, t.nodes()).seconds(bytes, n.across, n.add_s_per_byte);
  };
  using enum Kind;
  using enum Algorithm;
  switch (kind) {
    case all_reduce:  // the lanes of a node share its link, so together they take as long as one with all
                      // bytes
      return on_node(all_reduce, ring) + across(all_reduce, halving_doubling);
    case all_gather:
      return on_node(gather, binomial) / t.nodes() + across(all_gather, ring) + on_node(broadcast, binomial);
    case reduce_scatter:
      return on_node(reduce, binomial) + across(reduce_scatter, ring) +
             on_node(scatter, binomial) / t.nodes();
    default:
      return across(kind, binomial) + on_node(kind, binomial);
  }
}

// How many ranks of a node send to other nodes at the same time.
double sharing_a_link(Algorithm algorithm, const Topology& t) {
  if (t.nodes() == 1) return 1;
  return algorithm == Algorithm::ring || algorithm == Algorithm::binomial ? 1 : t.ranks_per_node;
}

bool worth_trying(Kind kind, Algorithm algorithm, const Topology& t) {
  if (algorithm == Algorithm::hierarchical && (t.nodes() == 1 || t.ranks_per_node == 1)) return false;
  return has_algorithm(kind, algorithm);
}

}  // namespace

double predicted_s(Kind kind, Algorithm algorithm, double bytes, const Topology& topology,
                   const Network& network) {
  require(has_algorithm(kind, algorithm), to_string(kind), "has no algorithm ", to_string(algorithm),
          ", expected ", algorithm_names(kind));
  require(topology.ranks >= 1 && topology.ranks_per_node >= 1, "predicted_s", topology.ranks, " ranks, ",
          topology.ranks_per_node, " on a node");
  if (algorithm == Algorithm::hierarchical) return staged_s(kind, bytes, topology, network);
  LinkPrice link = topology.nodes() == 1 ? network.node : network.across;
  link.beta_s_per_byte *= sharing_a_link(algorithm, topology);
  return path_of(kind, algorithm, topology.ranks).seconds(bytes, link, network.add_s_per_byte);
}

Algorithm choose_algorithm(Kind kind, double bytes, const Topology& topology, const Network& network) {
  if (kind == Kind::point_to_point) return Algorithm::direct;
  Algorithm best = Algorithm::automatic;
  double best_s = 0;
  for (int i = 0; i < kNumAlgorithms; ++i) {
    const auto algorithm = static_cast<Algorithm>(i);
    if (!worth_trying(kind, algorithm, topology)) continue;
    const double time_s = predicted_s(kind, algorithm, bytes, topology, network);
    if (best != Algorithm::automatic && time_s >= best_s) continue;
    best = algorithm;
    best_s = time_s;
  }
  return best;
}

}  // namespace tessera::plan
