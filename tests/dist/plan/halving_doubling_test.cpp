#include "dist/plan/halving_doubling.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "tests/dist/plan/simulator.h"

namespace tessera::plan {
namespace {

// Results, formulas and orders of arrival on all numbers of ranks: collective_test.cpp.

TEST(HalvingDoublingAllReduce, SendsAsLittleAsARingInFewerRounds) {
  for (int log = 0; log <= 3; ++log)
    for (int rank = 0; rank < 1 << log; ++rank) {
      const Index count = 64, ranks = 1 << log;
      const Volume volume{2 * log, 2 * count * (ranks - 1) / ranks};
      EXPECT_EQ(halving_doubling_all_reduce(rank, 1 << log, count).size(), 2 * log);
      EXPECT_EQ(halving_doubling_all_reduce_traffic(rank, 1 << log, count), (Traffic{volume, volume}));
    }
}

TEST(HalvingDoublingAllReduce, SendsItsLargestMessagesToNeighbours) {
  const Rounds rounds = halving_doubling_all_reduce(0, 8, 80);
  EXPECT_EQ(rounds.front()[0].to, 1);
  EXPECT_EQ(rounds.front()[0].send.size, 40);
  EXPECT_EQ(rounds[2][0].to, 4);
  EXPECT_EQ(rounds[2][0].send.size, 10);
}

TEST(HalvingDoubling, CostsPairsOneMoreMessageEachWayOnOtherNumbersOfRanks) {
  const Index count = 80;
  const Volume all{1, count}, exchanged{2, count}, both{3, 2 * count};  // 3 ranks: 0 and 2 are active
  EXPECT_EQ(halving_doubling_all_reduce_traffic(0, 3, count), (Traffic{both, both}));
  EXPECT_EQ(halving_doubling_all_reduce_traffic(1, 3, count), (Traffic{all, all}));
  EXPECT_EQ(halving_doubling_all_reduce_traffic(2, 3, count), (Traffic{exchanged, exchanged}));

  const std::vector<Index> sizes = {10, 20, 30};
  EXPECT_EQ(doubling_all_gather_traffic(1, sizes), (Traffic{{1, 20}, {1, 60}}));
  EXPECT_EQ(doubling_all_gather_traffic(0, sizes), (Traffic{{2, 90}, {2, 50}}));
  EXPECT_EQ(halving_reduce_scatter_traffic(0, sizes), (Traffic{{2, 50}, {2, 90}}));
}

TEST(Halving, SendsNoMessageForAnEmptyBlock) {
  EXPECT_EQ(doubling_all_gather_traffic(0, {0, 0, 0, 5}), (Traffic{{0, 0}, {1, 5}}));
  EXPECT_EQ(traffic(halving_doubling_all_reduce(0, 4, 0)), Traffic{});
}

TEST(HalvingDoubling, RejectsImpossibleArguments) {
  EXPECT_THROW(halving_doubling_all_reduce(0, 0, 5), std::invalid_argument);
  EXPECT_THROW(halving_doubling_all_reduce(2, 2, 5), std::invalid_argument);
  EXPECT_THROW(halving_doubling_all_reduce(0, 2, -5), std::invalid_argument);
  EXPECT_THROW(halving_reduce_scatter(2, {1, 1}), std::invalid_argument);
  EXPECT_THROW(doubling_all_gather(0, {1, -1}), std::invalid_argument);
}

}  // namespace
}  // namespace tessera::plan
