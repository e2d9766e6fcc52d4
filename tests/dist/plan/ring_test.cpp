#include "dist/plan/ring.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "tests/dist/plan/simulator.h"

namespace tessera::plan {
namespace {

std::vector<Rounds> reduce_scatter(const std::vector<Range>& parts, Index count) {
  return all_ranks(
      static_cast<int>(parts.size()), count, [&](int rank) { return ring_reduce_scatter(rank, parts); },
      [&](int rank) { return ring_reduce_scatter_traffic(rank, parts); });
}

std::vector<Rounds> all_gather(const std::vector<Range>& parts, Index count) {
  return all_ranks(
      static_cast<int>(parts.size()), count, [&](int rank) { return ring_all_gather(rank, parts); },
      [&](int rank) { return ring_all_gather_traffic(rank, parts); });
}

std::vector<Rounds> all_reduce(int ranks, Index count) {
  return all_ranks(
      ranks, count, [&](int rank) { return ring_all_reduce(rank, ranks, count); },
      [&](int rank) { return ring_all_reduce_traffic(rank, ranks, count); });
}

struct Division {
  std::vector<Range> parts;
  Index count;
};

// Uneven parts in random order, many of them empty, with gaps.
Division uneven(int ranks, unsigned seed) {
  constexpr Index kSizes[] = {0, 0, 1, 2, 5, 100};
  std::mt19937 random(seed);
  Division division{{}, static_cast<Index>(random() % 3)};
  for (int i = 0; i < ranks; ++i) {
    division.parts.push_back({division.count, kSizes[random() % 6]});
    division.count = division.parts.back().end() + static_cast<Index>(random() % 3);
  }
  std::ranges::shuffle(division.parts, random);
  return division;
}

// Even shares of every count, uneven parts, and one rank with everything.
std::vector<Division> divisions(int ranks) {
  std::vector<Division> all;
  for (const Index count : kCounts) all.push_back({shares(count, ranks), count});
  for (unsigned seed = 0; seed < 30; ++seed) all.push_back(uneven(ranks, seed));
  all.push_back({std::vector<Range>(ranks), 7});
  all.back().parts[ranks / 2] = {0, 7};
  return all;
}

TEST(RingReduceScatter, SumsEachPartOnItsOwner) {
  for (int ranks = 1; ranks <= kMaxRanks; ++ranks)
    for (const auto& [parts, count] : divisions(ranks)) {
      Buffers<Index> buffers = unique_values(ranks, count);
      run(reduce_scatter(parts, count), buffers);
      for (int rank = 0; rank < ranks; ++rank)
        for (Index i = parts[rank].begin; i < parts[rank].end(); ++i)
          ASSERT_EQ(buffers[rank][i], sum_of_values(ranks, i)) << "rank " << rank << " of " << ranks;
    }
}

TEST(RingReduceScatter, SumsInRingOrderWhateverTheSizes) {
  for (int ranks = 1; ranks <= kMaxRanks; ++ranks)
    for (const auto& [parts, count] : divisions(ranks)) {
      const Buffers<float> before = random_floats(ranks, count);
      Buffers<float> after = before;
      run(reduce_scatter(parts, count), after);
      for (int rank = 0; rank < ranks; ++rank)
        for (Index i = parts[rank].begin; i < parts[rank].end(); ++i) {
          float sum = before[(rank + 1) % ranks][i];
          for (int s = 2; s <= ranks; ++s) sum += before[(rank + s) % ranks][i];
          ASSERT_EQ(after[rank][i], ranks == 1 ? before[0][i] : sum);
        }
    }
}

TEST(RingAllGather, CopiesEachPartFromItsOwnerAndNothingElse) {
  for (int ranks = 1; ranks <= kMaxRanks; ++ranks)
    for (const auto& [parts, count] : divisions(ranks)) {
      const Buffers<Index> before = unique_values(ranks, count);
      Buffers<Index> expected = before, buffers = before;
      for (std::vector<Index>& buffer : expected)
        for (int owner = 0; owner < ranks; ++owner)
          write(buffer, parts[owner], read(before[owner], parts[owner]), Combine::copy);
      run(all_gather(parts, count), buffers);
      EXPECT_EQ(buffers, expected) << ranks << " ranks, count " << count;
    }
}

TEST(RingAllReduce, SumsOnAllRanks) {
  for (int ranks = 1; ranks <= kMaxRanks; ++ranks)
    for (const Index count : kCounts) {
      Buffers<Index> buffers = unique_values(ranks, count);
      run(all_reduce(ranks, count), buffers);
      for (const std::vector<Index>& buffer : buffers)
        for (Index i = 0; i < count; ++i) ASSERT_EQ(buffer[i], sum_of_values(ranks, i)) << ranks << " ranks";
    }
}

TEST(RingAllReduce, IsBitIdenticalOnAllRanks) {
  for (int ranks = 1; ranks <= kMaxRanks; ++ranks)
    for (const Index count : kCounts) {
      Buffers<float> buffers = random_floats(ranks, count);
      run(all_reduce(ranks, count), buffers);
      expect_bit_identical(buffers);
    }
}

TEST(RingAllReduce, SendsTheLeastPossible) {
  for (int ranks = 1; ranks <= kMaxRanks; ++ranks)
    for (int rank = 0; rank < ranks; ++rank) {
      const Index count = 840;  // a multiple of 1..8
      const Volume volume{2 * (ranks - 1), 2 * count * (ranks - 1) / ranks};
      EXPECT_EQ(ring_all_reduce(rank, ranks, count).size(), 2 * (ranks - 1));
      EXPECT_EQ(ring_all_reduce_traffic(rank, ranks, count), (Traffic{volume, volume}));
    }
}

TEST(RingAllReduce, SendsNoMessageForAnEmptyShare) {
  EXPECT_EQ(ring_all_reduce_traffic(0, 4, 1), (Traffic{.sent = {1, 1}, .received = {1, 1}}));
  EXPECT_EQ(ring_all_reduce_traffic(2, 4, 1), (Traffic{.sent = {2, 2}, .received = {2, 2}}));
  EXPECT_EQ(traffic(ring_all_reduce(0, 4, 0)), Traffic{});
}

TEST(Ring, MayRunAhead) {
  for (int ranks = 1; ranks <= 5; ++ranks)
    for (const Index count : {1, 3, 11}) {
      expect_order_is_free(all_reduce(ranks, count), count);
      expect_order_is_free(all_gather(shares(count, ranks), count), count);
      expect_order_is_free(reduce_scatter(shares(count, ranks), count), count);
    }
}

TEST(Ring, RejectsImpossibleArguments) {
  EXPECT_THROW(ring_all_reduce(0, 0, 5), std::invalid_argument);
  EXPECT_THROW(ring_all_reduce(-1, 2, 5), std::invalid_argument);
  EXPECT_THROW(ring_all_reduce(0, 2, -5), std::invalid_argument);
  EXPECT_THROW(ring_all_gather(2, shares(5, 2)), std::invalid_argument);
  EXPECT_THROW(ring_reduce_scatter(0, {{0, 3}, {2, 3}}), std::invalid_argument);
}

}  // namespace
}  // namespace tessera::plan
