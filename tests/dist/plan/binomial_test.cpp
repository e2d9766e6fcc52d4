#include "dist/plan/binomial.h"

#include <gtest/gtest.h>

#include <bit>
#include <stdexcept>

#include "tests/dist/plan/simulator.h"

namespace tessera::plan {
namespace {

std::vector<Rounds> broadcast(int ranks, int root, Index count) {
  return all_ranks(
      ranks, count, [&](int rank) { return binomial_broadcast(rank, ranks, root, count); },
      [&](int rank) { return binomial_broadcast_traffic(rank, ranks, root, count); });
}

std::vector<Rounds> reduce(int ranks, int root, Index count) {
  return all_ranks(
      ranks, count, [&](int rank) { return binomial_reduce(rank, ranks, root, count); },
      [&](int rank) { return binomial_reduce_traffic(rank, ranks, root, count); });
}

template <class Check>
void for_every_root(Check check) {
  for (int ranks = 1; ranks <= kMaxRanks; ++ranks)
    for (int root = 0; root < ranks; ++root)
      for (const Index count : kCounts) check(ranks, root, count);
}

TEST(BinomialBroadcast, CopiesTheRoot) {
  for_every_root([](int ranks, int root, Index count) {
    const Buffers<Index> before = unique_values(ranks, count);
    Buffers<Index> buffers = before;
    run(broadcast(ranks, root, count), buffers);
    EXPECT_EQ(buffers, Buffers<Index>(ranks, before[root])) << ranks << " ranks, root " << root;
  });
}

TEST(BinomialReduce, SumsOnTheRoot) {
  for_every_root([](int ranks, int root, Index count) {
    Buffers<Index> buffers = unique_values(ranks, count);
    run(reduce(ranks, root, count), buffers);
    for (Index i = 0; i < count; ++i)
      ASSERT_EQ(buffers[root][i], sum_of_values(ranks, i)) << ranks << " ranks, root " << root;
  });
}

TEST(Binomial, HasTheFewestRounds) {
  for_every_root([](int ranks, int root, Index count) {
    const std::size_t rounds = std::bit_width(static_cast<unsigned>(ranks - 1));  // ceil(log2(ranks))
    EXPECT_EQ(binomial_broadcast(0, ranks, root, count).size(), rounds);
    EXPECT_EQ(binomial_reduce(0, ranks, root, count).size(), rounds);
  });
}

TEST(Binomial, GivesEachRankItsChildren) {
  const Index children[] = {3, 0, 1, 0, 1, 0};  // of 0: 1, 2, 4; of 2: 3; of 4: 5 (6 is beyond)
  for (int v = 0; v < 6; ++v) {
    const Volume down{children[v], 10 * children[v]}, up{v > 0, 10 * (v > 0)};
    EXPECT_EQ(binomial_broadcast_traffic((v + 4) % 6, 6, 4, 10), (Traffic{down, up})) << v;
    EXPECT_EQ(binomial_reduce_traffic((v + 4) % 6, 6, 4, 10), (Traffic{up, down})) << v;
  }
}

TEST(Binomial, MayRunAhead) {
  for (int ranks = 1; ranks <= kMaxRanks; ++ranks) {
    expect_order_is_free(broadcast(ranks, ranks / 2, 5), 5);
    expect_order_is_free(reduce(ranks, ranks / 2, 5), 5);
  }
}

TEST(Binomial, RejectsImpossibleArguments) {
  EXPECT_THROW(binomial_broadcast(0, 2, 2, 5), std::invalid_argument);
  EXPECT_THROW(binomial_broadcast(2, 2, 0, 5), std::invalid_argument);
  EXPECT_THROW(binomial_reduce(0, 2, -1, 5), std::invalid_argument);
  EXPECT_THROW(binomial_reduce(0, 2, 0, -5), std::invalid_argument);
}

}  // namespace
}  // namespace tessera::plan
