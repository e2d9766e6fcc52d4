#include "dist/plan/hierarchical.h"

#include <algorithm>
#include <bit>

#include "dist/plan/binomial.h"
#include "dist/plan/halving_doubling.h"
#include "dist/plan/require.h"
#include "dist/plan/ring.h"

namespace tessera::plan {
namespace {

std::size_t num_ranks(const Nodes& nodes) {
  std::size_t ranks = 0;
  for (const auto& members : nodes) ranks += members.size();
  return ranks;
}

void require_nodes(const char* op, int rank, const Nodes& nodes) {
  const std::size_t ranks = num_ranks(nodes);
  require_rank(op, rank, static_cast<int>(ranks));
  std::vector<int> seen(ranks);
  for (const auto& members : nodes) {
    require(!members.empty(), op, "a node without ranks among ", nodes.size());
    for (const int member : members) {
      require_rank(op, member, static_cast<int>(ranks));
      require(++seen[member] == 1, op, "rank ", member, " is on two nodes");
    }
  }
}

int index_of(int rank, const std::vector<int>& members) {
  return static_cast<int>(std::ranges::find(members, rank) - members.begin());
}

int node_of(int rank, const Nodes& nodes) {
  int node = 0;
  while (index_of(rank, nodes[node]) == std::ssize(nodes[node])) ++node;
  return node;
}

// One algorithm's rounds within a larger one: its ranks are `members`, its buffer starts at `begin`, and
// other groups of ranks take up to num_rounds.
Rounds within(const std::vector<int>& members, Rounds rounds, std::size_t num_rounds, Index begin = 0) {
  for (Round& round : rounds)
    for (Step& step : round) {
      if (step.send.size > 0) step.to = members[step.to];
      if (step.receive.size > 0) step.from = members[step.from];
      step.send.begin += begin;
      step.receive.begin += begin;
    }
  rounds.resize(num_rounds);
  return rounds;
}

// The same where all groups take as many rounds, for a rank that may be in none of them.
Rounds among(bool member, const std::vector<int>& members, const Rounds& rounds, Index begin = 0) {
  return member ? within(members, rounds, rounds.size(), begin) : Rounds(rounds.size());
}

// What `rank` is on its node, and across nodes.
struct Place {
  int node, local;
  const std::vector<int>& members;
  std::size_t largest = 0, smallest;  // ranks on a node

  Place(int rank, const Nodes& nodes)
      : node(node_of(rank, nodes)),
        local(index_of(rank, nodes[node])),
        members(nodes[node]),
        smallest(members.size()) {
    for (const auto& ranks : nodes) {
      largest = std::max(largest, ranks.size());
      smallest = std::min(smallest, ranks.size());
    }
  }

  int num_local() const { return static_cast<int>(members.size()); }
  std::size_t ring_rounds() const { return largest - 1; }
  std::size_t tree_rounds() const { return std::bit_width(largest - 1); }
};

// ---- all-reduce ----

// The shares of a node of `ranks`: one for each lane, none for further ranks.
std::vector<Range> lane_shares(Index count, std::size_t lanes, std::size_t ranks) {
  std::vector<Range> parts = shares(count, static_cast<int>(lanes));
  parts.resize(ranks, {count, 0});
  return parts;
}

std::vector<int> lane_members(const Nodes& nodes, int lane) {
  std::vector<int> members;
  for (const auto& ranks : nodes) members.push_back(ranks[lane]);
  return members;
}

// ---- trees ----

// One rank of each node: the root on its own, the first on others.
std::vector<int> leaders(const Nodes& nodes, int root) {
  std::vector<int> result = lane_members(nodes, 0);
  result[node_of(root, nodes)] = root;
  return result;
}

// ---- blocks in the order of nodes ----

struct Blocks {
  std::vector<Index> own;    // sizes on the rank's node
  std::vector<Range> nodes;  // each node's blocks together
  Index count = 0;

  Blocks(const char* op, int rank, const Nodes& all, const std::vector<Index>& sizes) {
    require(num_ranks(all) == sizes.size(), op, sizes.size(), " blocks for ", num_ranks(all), " ranks");
    const int node = node_of(rank, all);
    for (int i = 0; i < std::ssize(all); ++i) {
      Range& range = nodes.emplace_back(Range{count, 0});
      for (const int member : all[i]) {
        range.size += sizes[member];
        if (i == node) own.push_back(sizes[member]);
      }
      count = range.end();
    }
  }
};

}  // namespace

Nodes nodes_in_order(int ranks, int ranks_per_node) {
  require(ranks > 0 && ranks_per_node > 0, "nodes_in_order", ranks, " ranks, ", ranks_per_node, " on a node");
  Nodes nodes;
  for (int rank = 0; rank < ranks; ++rank) {
    if (rank % ranks_per_node == 0) nodes.emplace_back();
    nodes.back().push_back(rank);
  }
  return nodes;
}

Rounds hierarchical_all_reduce(int rank, const Nodes& nodes, Index count) {
  require_nodes("hierarchical_all_reduce", rank, nodes);
  const Place place(rank, nodes);
  const std::vector<Range> parts = lane_shares(count, place.smallest, place.members.size());
  const int num_nodes = static_cast<int>(nodes.size());

  Rounds rounds = within(place.members, ring_reduce_scatter(place.local, parts), place.ring_rounds());
  const Rounds across =
      halving_doubling_all_reduce(place.node, num_nodes, parts[place.local].size);  // no lane: no elements
  const bool in_lane = place.local < static_cast<int>(place.smallest);
  const std::vector<int> lane = in_lane ? lane_members(nodes, place.local) : std::vector<int>();
  rounds = concatenate(std::move(rounds), among(in_lane, lane, across, parts[place.local].begin));
  return concatenate(std::move(rounds),
                     within(place.members, ring_all_gather(place.local, parts), place.ring_rounds()));
}

Traffic hierarchical_all_reduce_traffic(int rank, const Nodes& nodes, Index count) {
  require_nodes("hierarchical_all_reduce_traffic", rank, nodes);
  const Place place(rank, nodes);
  const std::vector<Range> parts = lane_shares(count, place.smallest, place.members.size());
  return ring_reduce_scatter_traffic(place.local, parts) +
         halving_doubling_all_reduce_traffic(place.node, static_cast<int>(nodes.size()),
                                             parts[place.local].size) +
         ring_all_gather_traffic(place.local, parts);
}

Rounds hierarchical_broadcast(int rank, const Nodes& nodes, int root, Index count) {
  require_nodes("hierarchical_broadcast", rank, nodes);
  require_rank("hierarchical_broadcast", root, static_cast<int>(num_ranks(nodes)));
  const Place place(rank, nodes);
  const std::vector<int> heads = leaders(nodes, root);
  const Rounds across =
      binomial_broadcast(place.node, static_cast<int>(nodes.size()), node_of(root, nodes), count);
  const int head = index_of(heads[place.node], place.members);
  return concatenate(among(place.local == head, heads, across),
                     within(place.members, binomial_broadcast(place.local, place.num_local(), head, count),
                            place.tree_rounds()));
}

Traffic hierarchical_broadcast_traffic(int rank, const Nodes& nodes, int root, Index count) {
  require_nodes("hierarchical_broadcast_traffic", rank, nodes);
  const Place place(rank, nodes);
  const int head = index_of(leaders(nodes, root)[place.node], place.members);
  const Traffic own = binomial_broadcast_traffic(place.local, place.num_local(), head, count);
  if (place.local != head) return own;
  return own +
         binomial_broadcast_traffic(place.node, static_cast<int>(nodes.size()), node_of(root, nodes), count);
}

Rounds hierarchical_reduce(int rank, const Nodes& nodes, int root, Index count) {
  return reversed(hierarchical_broadcast(rank, nodes, root, count), Combine::add);
}

Traffic hierarchical_reduce_traffic(int rank, const Nodes& nodes, int root, Index count) {
  return reversed(hierarchical_broadcast_traffic(rank, nodes, root, count));
}

Rounds hierarchical_all_gather(int rank, const Nodes& nodes, const std::vector<Index>& sizes) {
  require_nodes("hierarchical_all_gather", rank, nodes);
  const Place place(rank, nodes);
  const Blocks blocks("hierarchical_all_gather", rank, nodes, sizes);
  Rounds rounds = within(place.members, binomial_gather(place.local, 0, blocks.own), place.tree_rounds(),
                         blocks.nodes[place.node].begin);
  const Rounds across = ring_all_gather(place.node, blocks.nodes);
  rounds = concatenate(std::move(rounds), among(place.local == 0, lane_members(nodes, 0), across));
  return concatenate(
      std::move(rounds),
      within(place.members, binomial_broadcast(place.local, place.num_local(), 0, blocks.count),
             place.tree_rounds()));
}

Traffic hierarchical_all_gather_traffic(int rank, const Nodes& nodes, const std::vector<Index>& sizes) {
  require_nodes("hierarchical_all_gather_traffic", rank, nodes);
  const Place place(rank, nodes);
  const Blocks blocks("hierarchical_all_gather_traffic", rank, nodes, sizes);
  const Traffic own = binomial_gather_traffic(place.local, 0, blocks.own) +
                      binomial_broadcast_traffic(place.local, place.num_local(), 0, blocks.count);
  return place.local == 0 ? own + ring_all_gather_traffic(place.node, blocks.nodes) : own;
}

Rounds hierarchical_reduce_scatter(int rank, const Nodes& nodes, const std::vector<Index>& sizes) {
  require_nodes("hierarchical_reduce_scatter", rank, nodes);
  const Place place(rank, nodes);
  const Blocks blocks("hierarchical_reduce_scatter", rank, nodes, sizes);
  Rounds rounds = within(place.members, binomial_reduce(place.local, place.num_local(), 0, blocks.count),
                         place.tree_rounds());
  const Rounds across = ring_reduce_scatter(place.node, blocks.nodes);
  rounds = concatenate(std::move(rounds), among(place.local == 0, lane_members(nodes, 0), across));
  return concatenate(std::move(rounds), within(place.members, binomial_scatter(place.local, 0, blocks.own),
                                               place.tree_rounds(), blocks.nodes[place.node].begin));
}

Traffic hierarchical_reduce_scatter_traffic(int rank, const Nodes& nodes, const std::vector<Index>& sizes) {
  require_nodes("hierarchical_reduce_scatter_traffic", rank, nodes);
  const Place place(rank, nodes);
  const Blocks blocks("hierarchical_reduce_scatter_traffic", rank, nodes, sizes);
  const Traffic own = binomial_reduce_traffic(place.local, place.num_local(), 0, blocks.count) +
                      binomial_scatter_traffic(place.local, 0, blocks.own);
  return place.local == 0 ? own + ring_reduce_scatter_traffic(place.node, blocks.nodes) : own;
}

}  // namespace tessera::plan
