#include "dist/plan/automatic.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "dist/plan/require.h"

namespace tessera::plan {
namespace {

// What happens one after the other: rounds, messages, and multiples of the buffer's bytes sent and added.
struct Cost {
  double rounds = 0, messages = 0, sent = 0, added = 0;
};

Cost operator+(const Cost& a, const Cost& b) {
  return {a.rounds + b.rounds, a.messages + b.messages, a.sent + b.sent, a.added + b.added};
}

// One exchange after the other, each of all the bytes.
Cost exchanges(double rounds, bool adds) { return {rounds, rounds, rounds, adds ? rounds : 0}; }

// The sizes that all formulas are made of.
struct Sizes {
  double ranks, log_active, log_up, all_but_one, active_but_one;
  bool folds;

  explicit Sizes(int p)
      : ranks(p),
        log_active(std::bit_width(static_cast<unsigned>(p)) - 1),
        log_up(std::bit_width(static_cast<unsigned>(p - 1))),
        all_but_one(1 - 1.0 / p),
        active_but_one(1 - std::exp2(-log_active)),
        folds(!std::has_single_bit(static_cast<unsigned>(p))) {}

  Cost ring() const { return {ranks - 1, ranks - 1, all_but_one, 0}; }
  Cost doubling() const {
    return Cost{log_active, log_active, active_but_one, 0} + (folds ? exchanges(2, false) : Cost{});
  }
  Cost tree() const { return exchanges(log_up, false); }
  Cost scatter() const { return {log_up, log_up, all_but_one, 0}; }
};

Cost adding(Cost cost) {
  cost.added = cost.sent;
  return cost;
}

double blocks_with_a_bit(int ranks) {
  double steps = 0;
  for (int way = 1; way < ranks; ++way) steps += std::popcount(static_cast<unsigned>(way));
  return steps;
}

// Within a node, or with one rank on each node.
Cost flat_cost(Kind kind, Algorithm algorithm, int ranks) {
  const Sizes s(ranks);
  const bool sums = kind == Kind::reduce_scatter || kind == Kind::reduce;
  const auto once = [&](const Cost& cost) { return sums ? adding(cost) : cost; };
  switch (algorithm) {
    case Algorithm::ring:
      if (kind == Kind::all_reduce) return adding(s.ring()) + s.ring();
      if (kind == Kind::broadcast || kind == Kind::reduce) return s.scatter() + once(s.ring());
      return once(s.ring());
    case Algorithm::recursive_doubling:
      return exchanges(s.log_active, true) + (s.folds ? exchanges(1, true) + exchanges(1, false) : Cost{});
    case Algorithm::halving_doubling:
      return kind == Kind::all_reduce ? adding(s.doubling()) + s.doubling() : once(s.doubling());
    case Algorithm::binomial:
      if (kind == Kind::all_reduce) return adding(s.tree()) + s.tree();
      return kind == Kind::gather || kind == Kind::scatter ? s.scatter() : once(s.tree());
    case Algorithm::bruck:
      if (kind == Kind::all_gather) return {s.log_up, s.log_up, s.all_but_one, 0};
      // Each block is packed before it is sent, and unpacked once: twice what an addition would take.
      return {s.log_up, s.log_up, blocks_with_a_bit(ranks) / ranks,
              2 * (blocks_with_a_bit(ranks) / ranks + s.all_but_one)};
    case Algorithm::pairwise:
      return once({ranks > 1 ? 1.0 : 0.0, s.ranks - 1, s.all_but_one, 0});
    default:  // dissemination
      return {s.log_up, s.log_up, 0, 0};
  }
}

double seconds(const Cost& cost, double bytes, const LinkPrice& link, double add_s_per_byte) {
  return cost.rounds * link.alpha_s + (cost.messages - cost.rounds) * link.per_message_s +
         bytes * (cost.sent * link.beta_s_per_byte + cost.added * add_s_per_byte);
}

// Hierarchical: its stages on a node, and across nodes on `across` of the bytes.
double staged_s(Kind kind, double bytes, const Topology& t, const Network& n) {
  const auto on_node = [&](Kind stage, Algorithm algorithm) {
    return seconds(flat_cost(stage, algorithm, t.ranks_per_node), bytes, n.node, n.add_s_per_byte);
  };
  const auto across = [&](Kind stage, Algorithm algorithm) {
    return seconds(flat_cost(stage, algorithm, t.nodes()), bytes, n.across, n.add_s_per_byte);
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
  return seconds(flat_cost(kind, algorithm, topology.ranks), bytes, link, network.add_s_per_byte);
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
