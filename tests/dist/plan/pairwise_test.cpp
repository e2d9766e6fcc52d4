#include "dist/plan/pairwise.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "tests/dist/plan/simulator.h"

namespace tessera::plan {
namespace {

// Results, formulas and orders of arrival on all numbers of ranks: collective_test.cpp.

TEST(PairwiseAllToAll, SendsEachElementOnceAndNothingThatIsEmpty) {
  const std::vector<Range> sends = {{0, 2}, {2, 0}, {2, 5}}, receives = {{7, 2}, {9, 3}, {12, 0}};
  EXPECT_EQ(pairwise_all_to_all_traffic(0, sends, receives), (Traffic{{1, 5}, {1, 3}}));
  const Rounds rounds = pairwise_all_to_all(0, sends, receives);
  ASSERT_EQ(rounds.size(), 3U);
  EXPECT_EQ(rounds[0][0].to, 1);
  EXPECT_EQ(rounds[0][0].from, 2);
  EXPECT_TRUE(rounds[2][0].local());
}

TEST(PairwiseReduceScatter, SendsWhatARingSends) {
  for (int ranks = 1; ranks <= kMaxRanks; ++ranks) {
    const Volume volume{ranks - 1, 840 / ranks * (ranks - 1)};
    EXPECT_EQ(pairwise_reduce_scatter_traffic(0, shares(840, ranks)), (Traffic{volume, volume}));
  }
}

TEST(PairwiseReduceScatter, SumsInAnOrderThatDependsOnTheRankAlone) {
  for (int ranks = 2; ranks <= kMaxRanks; ++ranks) {
    const Index count = 100;
    const Buffers<float> before = random_floats(ranks, count);
    Buffers<float> after = before;
    const std::vector<Range> parts = shares(count, ranks);
    run(all_ranks(
            ranks, count, [&](int rank) { return pairwise_reduce_scatter(rank, parts); },
            [&](int rank) { return pairwise_reduce_scatter_traffic(rank, parts); }),
        after);
    for (int rank = 0; rank < ranks; ++rank)
      for (Index i = parts[rank].begin; i < parts[rank].end(); ++i) {
        float sum = before[rank][i];
        for (int s = 1; s < ranks; ++s) sum += before[(rank - s + ranks) % ranks][i];
        ASSERT_EQ(after[rank][i], sum);
      }
  }
}

TEST(Pairwise, RejectsImpossibleArguments) {
  EXPECT_THROW(pairwise_reduce_scatter(0, {{0, 3}, {2, 3}}), std::invalid_argument);
  EXPECT_THROW(pairwise_all_to_all(0, {{0, 1}, {1, 1}}, {{2, 1}}), std::invalid_argument);
  EXPECT_THROW(pairwise_all_to_all(0, {{0, 1}, {1, 1}}, {{1, 1}, {2, 1}}), std::invalid_argument);
  EXPECT_THROW(pairwise_all_to_all(0, {{0, 1}, {1, 1}}, {{2, 2}, {4, 1}}), std::invalid_argument);
  EXPECT_THROW(pairwise_all_to_all(2, {{0, 1}, {1, 1}}, {{2, 1}, {3, 1}}), std::invalid_argument);
}

}  // namespace
}  // namespace tessera::plan
