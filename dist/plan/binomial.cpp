#include "dist/plan/binomial.h"

#include <algorithm>
#include <bit>

namespace tessera::plan {
namespace {

void require_tree(const char* op, int rank, int ranks, int root, Index count) {
  require_rank(op, rank, ranks);
  require_rank(op, root, ranks);
  require_count(op, count);
}

// Ranks counted from the root: v's subtree is v to v + span - 1, where span is v's lowest set bit.
struct Node {
  int v, ranks, root;

  Node(int rank, int num_ranks, int root_rank)
      : v((rank - root_rank + num_ranks) % num_ranks), ranks(num_ranks), root(root_rank) {}

  int rank(int other) const { return (other + root) % ranks; }
  int span() const { return v == 0 ? ceil() : v & -v; }
  int ceil() const { return static_cast<int>(std::bit_ceil(static_cast<unsigned>(ranks))); }
};

// Down the tree: range_of(v, n) is what the subtree of n ranks from v on gets.
template <class RangeOf>
Rounds down(const Node& node, RangeOf range_of) {
  Rounds rounds;
  // Before a round, the multiples of 2 * distance have their data; after it, the multiples of distance.
  for (int distance = node.ceil() / 2; distance > 0; distance /= 2) {
    Round& round = rounds.emplace_back();
    const int child = node.v + distance;
    if (distance < node.span() && child < node.ranks)
      round = {{.send = range_of(child, std::min(distance, node.ranks - child)), .to = node.rank(child)}};
    if (distance == node.span())
      round = {{.receive = range_of(node.v, std::min(distance, node.ranks - node.v)),
                .from = node.rank(node.v - distance)}};
  }
  return rounds;
}

std::vector<Range> blocks_from(const char* op, int rank, int root, std::vector<Index> sizes) {
  require_rank(op, root, static_cast<int>(sizes.size()));
  std::ranges::rotate(sizes, sizes.begin() + root);
  std::vector<Range> blocks = in_a_row(sizes);
  require_parts(op, rank, blocks);
  return blocks;
}

}  // namespace

Rounds binomial_broadcast(int rank, int ranks, int root, Index count) {
  require_tree("binomial_broadcast", rank, ranks, root, count);
  return down(Node(rank, ranks, root), [count](int, int) { return Range{0, count}; });
}

Traffic binomial_broadcast_traffic(int rank, int ranks, int root, Index count) {
  require_tree("binomial_broadcast_traffic", rank, ranks, root, count);
  const auto v = static_cast<unsigned>((rank - root + ranks) % ranks), p = static_cast<unsigned>(ranks);
  // Children v + 2^i with 2^i below the lowest set bit of v, and below p - v.
  const int children = std::min(std::countr_zero(v), static_cast<int>(std::bit_width(p - v - 1)));
  const Volume message = volume_of({0, count});
  return {children * message, (v == 0 ? 0 : 1) * message};
}

Rounds binomial_reduce(int rank, int ranks, int root, Index count) {
  require_tree("binomial_reduce", rank, ranks, root, count);
  return reversed(binomial_broadcast(rank, ranks, root, count), Combine::add);
}

Traffic binomial_reduce_traffic(int rank, int ranks, int root, Index count) {
  return reversed(binomial_broadcast_traffic(rank, ranks, root, count));
}

Rounds binomial_all_reduce(int rank, int ranks, Index count) {
  return concatenate(binomial_reduce(rank, ranks, 0, count), binomial_broadcast(rank, ranks, 0, count));
}

Traffic binomial_all_reduce_traffic(int rank, int ranks, Index count) {
  return binomial_reduce_traffic(rank, ranks, 0, count) + binomial_broadcast_traffic(rank, ranks, 0, count);
}

Rounds binomial_scatter(int rank, int root, const std::vector<Index>& sizes) {
  const std::vector<Range> blocks = blocks_from("binomial_scatter", rank, root, sizes);
  return down(Node(rank, static_cast<int>(sizes.size()), root),
              [&](int v, int n) { return hull(blocks, v, v + n); });
}

Traffic binomial_scatter_traffic(int rank, int root, const std::vector<Index>& sizes) {
  const std::vector<Range> blocks = blocks_from("binomial_scatter_traffic", rank, root, sizes);
  const Node node(rank, static_cast<int>(sizes.size()), root);
  const auto subtree = [&](int v, int n) { return volume_of(hull(blocks, v, std::min(v + n, node.ranks))); };
  Traffic traffic;
  for (int i = 1; i < node.span() && node.v + i < node.ranks; i *= 2)
    traffic.sent = traffic.sent + subtree(node.v + i, i);
  if (node.v > 0) traffic.received = subtree(node.v, node.span());
  return traffic;
}

Rounds binomial_gather(int rank, int root, const std::vector<Index>& sizes) {
  return reversed(binomial_scatter(rank, root, sizes), Combine::copy);
}

Traffic binomial_gather_traffic(int rank, int root, const std::vector<Index>& sizes) {
  return reversed(binomial_scatter_traffic(rank, root, sizes));
}

}  // namespace tessera::plan
