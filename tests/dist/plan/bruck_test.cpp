#include "dist/plan/bruck.h"

#include <gtest/gtest.h>

#include <bit>
#include <stdexcept>

#include "tests/dist/plan/simulator.h"

namespace tessera::plan {
namespace {

// Results, formulas and orders of arrival on all numbers of ranks: collective_test.cpp.

TEST(BruckAllGather, HasTheFewestMessagesAndTheFewestBytes) {
  for (int ranks = 1; ranks <= kMaxRanks; ++ranks) {
    const std::vector<Index> sizes(ranks, 10);
    const Index messages = std::bit_width(static_cast<unsigned>(ranks - 1));
    const Volume volume{messages, 10 * (ranks - 1)};
    for (int rank = 0; rank < ranks; ++rank) {
      EXPECT_EQ(bruck_all_gather(rank, sizes).size(), messages);
      EXPECT_EQ(bruck_all_gather_traffic(rank, sizes), (Traffic{volume, volume}));
    }
  }
}

TEST(BruckAllToAll, SendsABlockAsOftenAsItsWayHasBits) {
  // 4 ranks: ways 1, 2 have one bit, 3 has two.
  EXPECT_EQ(bruck_all_to_all_traffic(0, 4, 10), (Traffic{{2, 40}, {2, 40}}));
  // 6 ranks: 1 2 4, 3 5.
  EXPECT_EQ(bruck_all_to_all_traffic(3, 6, 10), (Traffic{{3, 70}, {3, 70}}));
  EXPECT_EQ(bruck_all_to_all_traffic(0, 6, 0), Traffic{});
}

TEST(BruckAllToAll, StaysInItsWorkspace) {
  for (int ranks = 1; ranks <= kMaxRanks; ++ranks) {
    Index end = 0;
    for (const Round& round : bruck_all_to_all(0, ranks, 5))
      for (const Step& step : round) end = std::max({end, step.send.end(), step.receive.end()});
    EXPECT_EQ(end, 2 * ranks * 5 + (ranks > 1 ? bruck_workspace(ranks, 5) : 0));
  }
  EXPECT_EQ(bruck_workspace(8, 5), 5 * (4 + 3 * 4));
}

TEST(Bruck, RejectsImpossibleArguments) {
  EXPECT_THROW(bruck_all_gather(2, {1, 1}), std::invalid_argument);
  EXPECT_THROW(bruck_all_gather(0, {1, -1}), std::invalid_argument);
  EXPECT_THROW(bruck_all_to_all(2, 2, 5), std::invalid_argument);
  EXPECT_THROW(bruck_all_to_all(0, 2, -5), std::invalid_argument);
}

}  // namespace
}  // namespace tessera::plan
