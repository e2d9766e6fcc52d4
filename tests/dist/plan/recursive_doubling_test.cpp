#include "dist/plan/recursive_doubling.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "tests/dist/plan/simulator.h"

namespace tessera::plan {
namespace {

std::vector<Rounds> all_reduce(int ranks, Index count) {
  return all_ranks(
      ranks, count, [&](int rank) { return recursive_doubling_all_reduce(rank, ranks, count); },
      [&](int rank) { return recursive_doubling_all_reduce_traffic(rank, ranks, count); });
}

TEST(RecursiveDoublingAllReduce, SumsOnAllRanks) {
  for (int ranks = 1; ranks <= kMaxRanks; ++ranks)
    for (const Index count : kCounts) {
      Buffers<Index> buffers = unique_values(ranks, count);
      run(all_reduce(ranks, count), buffers);
      for (const std::vector<Index>& buffer : buffers)
        for (Index i = 0; i < count; ++i) ASSERT_EQ(buffer[i], sum_of_values(ranks, i)) << ranks << " ranks";
    }
}

TEST(RecursiveDoublingAllReduce, IsBitIdenticalOnAllRanks) {
  for (int ranks = 1; ranks <= 2 * kMaxRanks + 1; ++ranks)
    for (const Index count : kCounts) {
      Buffers<float> buffers = random_floats(ranks, count);
      run(all_reduce(ranks, count), buffers);
      expect_bit_identical(buffers);
    }
}

TEST(RecursiveDoublingAllReduce, SendsTheWholeBufferInEachOfItsRounds) {
  const auto messages = [](int rank, int ranks) {
    const Traffic traffic = recursive_doubling_all_reduce_traffic(rank, ranks, 10);
    EXPECT_EQ(traffic.sent, traffic.received);
    EXPECT_EQ(traffic.sent.elements, 10 * traffic.sent.messages);
    return traffic.sent.messages;
  };
  for (int rank = 0; rank < 8; ++rank) EXPECT_EQ(messages(rank, 8), 3);
  const Index expected[] = {3, 1, 3, 1, 2, 2};  // of 6 ranks, 4 exchange: 0, 2, 4, 5
  for (int rank = 0; rank < 6; ++rank) EXPECT_EQ(messages(rank, 6), expected[rank]) << rank;
  EXPECT_EQ(recursive_doubling_all_reduce(0, 8, 10).size(), 3);
  EXPECT_EQ(recursive_doubling_all_reduce(0, 6, 10).size(), 2 + 2);
}

TEST(RecursiveDoublingAllReduce, MayRunAhead) {
  for (int ranks = 1; ranks <= 6; ++ranks) expect_order_is_free(all_reduce(ranks, 5), 5);
}

TEST(RecursiveDoublingAllReduce, RejectsImpossibleArguments) {
  EXPECT_THROW(recursive_doubling_all_reduce(0, 0, 5), std::invalid_argument);
  EXPECT_THROW(recursive_doubling_all_reduce(3, 3, 5), std::invalid_argument);
  EXPECT_THROW(recursive_doubling_all_reduce(0, 3, -1), std::invalid_argument);
}

}  // namespace
}  // namespace tessera::plan
