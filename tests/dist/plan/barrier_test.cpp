#include "dist/plan/barrier.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "tests/dist/plan/simulator.h"

namespace tessera::plan {
namespace {

std::vector<Rounds> barrier(int ranks) {
  return all_ranks(
      ranks, 1, [&](int rank) { return dissemination_barrier(rank, ranks); },
      [&](int) { return dissemination_barrier_traffic(ranks); });
}

// Ranks begin with a hexadecimal digit of their own. At most 8 terms meet in a digit, so none overflows, and
// a digit is nonzero where that rank was heard of.
Buffers<Index> digits(int ranks) {
  Buffers<Index> buffers;
  for (int rank = 0; rank < ranks; ++rank) buffers.push_back({Index{1} << (4 * rank)});
  return buffers;
}

void expect_all_heard_of_all(const Buffers<Index>& buffers) {
  const int ranks = static_cast<int>(buffers.size());
  for (const std::vector<Index>& buffer : buffers)
    for (int rank = 0; rank < ranks; ++rank)
      EXPECT_NE(buffer[0] >> (4 * rank) & 15, 0) << rank << " of " << ranks;
}

TEST(DisseminationBarrier, EndsWhenAllHaveBegun) {
  for (int ranks = 1; ranks <= kMaxRanks; ++ranks) {
    Buffers<Index> buffers = digits(ranks);
    run(barrier(ranks), buffers);
    expect_all_heard_of_all(buffers);
  }
}

TEST(DisseminationBarrier, HoldsForExecutorsThatRunAhead) {
  for (int ranks = 1; ranks <= kMaxRanks; ++ranks)
    for (unsigned seed = 0; seed < 50; ++seed) {
      Buffers<Index> buffers = digits(ranks);
      run_ahead(barrier(ranks), buffers, 1, seed);
      expect_all_heard_of_all(buffers);
    }
}

TEST(DisseminationBarrier, TakesLogarithmicallyManyMessages) {
  const std::size_t expected[] = {0, 1, 2, 2, 3, 3, 3, 3};
  for (int ranks = 1; ranks <= kMaxRanks; ++ranks) {
    EXPECT_EQ(dissemination_barrier(0, ranks).size(), expected[ranks - 1]);
    EXPECT_EQ(dissemination_barrier_traffic(ranks).sent.messages, expected[ranks - 1]);
  }
}

TEST(DisseminationBarrier, RejectsImpossibleArguments) {
  EXPECT_THROW(dissemination_barrier(0, 0), std::invalid_argument);
  EXPECT_THROW(dissemination_barrier(2, 2), std::invalid_argument);
}

}  // namespace
}  // namespace tessera::plan
