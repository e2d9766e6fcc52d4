#include "dist/comm/collectives.h"

#include <bit>
#include <cmath>
#include <functional>
#include <random>

#include "dist/plan/barrier.h"
#include "dist/plan/binomial.h"
#include "dist/plan/recursive_doubling.h"
#include "dist/plan/ring.h"
#include "tests/dist/comm/values.h"
#include "tests/dist/mpi_test.h"

namespace tessera::dist {
namespace {

using plan::Range;

int rank() { return world().rank(); }
int ranks() { return world().size(); }

/// The default, and messages of at most 7 elements of which few are under way.
template <class T>
std::vector<Cutting> cuttings() {
  return {{}, {.in_flight_bytes = 100, .message_limit_bytes = 7 * static_cast<Index>(sizeof(T))}};
}

Index num_pieces(const plan::Rounds& rounds, Index limit, Range plan::Step::*range) {
  Index pieces = 0;
  for (const plan::Round& round : rounds)
    for (const plan::Step& step : round) pieces += ((step.*range).size + limit - 1) / limit;
  return pieces;
}

/// Runs `call` and holds what it sent and received against the closed formula, and pieces against the rounds.
void expect_traffic(Kind kind, Algorithm algorithm, const plan::Traffic& traffic, const plan::Rounds& rounds,
                    Index element_bytes, const Cutting& cutting, const std::function<void()>& call) {
  const Counter before = world().counter(kind, algorithm);
  call();
  const Counter& after = world().counter(kind, algorithm);
  EXPECT_EQ(after.calls - before.calls, 1);
  EXPECT_EQ(after.messages_sent - before.messages_sent, traffic.sent.messages);
  EXPECT_EQ(after.messages_received - before.messages_received, traffic.received.messages);
  EXPECT_EQ(after.bytes_sent - before.bytes_sent, traffic.sent.elements * element_bytes);
  EXPECT_EQ(after.bytes_received - before.bytes_received, traffic.received.elements * element_bytes);
  const Index limit = std::min(cutting.message_limit_bytes, cutting.segment_bytes) / element_bytes;
  EXPECT_EQ(after.pieces_sent - before.pieces_sent, num_pieces(rounds, limit, &plan::Step::send));
  EXPECT_EQ(after.pieces_received - before.pieces_received, num_pieces(rounds, limit, &plan::Step::receive));
}

template <class T>
class Collectives : public testing::Test {
 public:
  static constexpr Index kBytes = sizeof(T);
};
using Types = testing::Types<float, double, std::int32_t, std::int64_t>;
TYPED_TEST_SUITE(Collectives, Types);

TYPED_TEST(Collectives, AllReduceSumsOnAllRanks) {
  for (const Index count : kCounts)
    for (const Cutting& cutting : cuttings<TypeParam>())
      for (const Algorithm algorithm : {Algorithm::ring, Algorithm::recursive_doubling}) {
        const bool ring = algorithm == Algorithm::ring;
        std::vector<TypeParam> x = values<TypeParam>(rank(), count);
        expect_traffic(Kind::all_reduce, algorithm,
                       ring ? plan::ring_all_reduce_traffic(rank(), ranks(), count)
                            : plan::recursive_doubling_all_reduce_traffic(rank(), ranks(), count),
                       ring ? plan::ring_all_reduce(rank(), ranks(), count)
                            : plan::recursive_doubling_all_reduce(rank(), ranks(), count),
                       this->kBytes, cutting,
                       [&] { all_reduce(world(), x, {.algorithm = algorithm, .cutting = cutting}); });
        EXPECT_EQ(x, sums_of_values<TypeParam>(ranks(), count))
            << to_string(algorithm) << ", count " << count;
      }
}

TYPED_TEST(Collectives, AllReduceFindsTheLargest) {
  for (const Algorithm algorithm : {Algorithm::ring, Algorithm::recursive_doubling}) {
    std::vector<TypeParam> x;
    for (Index i = 0; i < 1000; ++i) x.push_back(static_cast<TypeParam>((rank() + i) % ranks() - 5));
    all_reduce(world(), x, {.algorithm = algorithm, .reduction = Reduction::max});
    EXPECT_EQ(x, std::vector<TypeParam>(1000, static_cast<TypeParam>(ranks() - 6)));
  }
}

// Even shares; and in reverse order of rank, with gaps, parts of very different sizes, the first one empty.
std::vector<std::vector<Range>> divisions(Index count) {
  std::vector<Range> uneven(ranks());
  Index end = count;
  for (int r = 1; r < ranks(); ++r) {
    uneven[r].size = std::max<Index>(end / 2 - 1, 0);
    uneven[r].begin = end - uneven[r].size;
    end = std::max<Index>(uneven[r].begin - 1, 0);
  }
  return {{}, uneven};
}

TYPED_TEST(Collectives, ReduceScatterSumsEachPartOnItsRank) {
  for (const Index count : kCounts)
    for (const auto& division : divisions(count))
      for (const Cutting& cutting : cuttings<TypeParam>()) {
        const std::vector<Range> parts = division.empty() ? plan::shares(count, ranks()) : division;
        std::vector<TypeParam> x = values<TypeParam>(rank(), count);
        expect_traffic(Kind::reduce_scatter, Algorithm::ring,
                       plan::ring_reduce_scatter_traffic(rank(), parts),
                       plan::ring_reduce_scatter(rank(), parts), this->kBytes, cutting,
                       [&] { reduce_scatter(world(), x, division, {.cutting = cutting}); });
        const Range mine = parts[rank()];
        for (Index i = mine.begin; i < mine.end(); ++i) ASSERT_EQ(x[i], sum_of_values<TypeParam>(ranks(), i));
      }
}

TYPED_TEST(Collectives, AllGatherCopiesAllParts) {
  for (const Index count : kCounts)
    for (const auto& division : divisions(count))
      for (const Cutting& cutting : cuttings<TypeParam>()) {
        const std::vector<Range> parts = division.empty() ? plan::shares(count, ranks()) : division;
        std::vector<TypeParam> x = values<TypeParam>(rank(), count), expected = x;
        for (int r = 0; r < ranks(); ++r)
          for (Index i = parts[r].begin; i < parts[r].end(); ++i) expected[i] = value<TypeParam>(r, i);
        expect_traffic(Kind::all_gather, Algorithm::ring, plan::ring_all_gather_traffic(rank(), parts),
                       plan::ring_all_gather(rank(), parts), this->kBytes, cutting,
                       [&] { all_gather(world(), x, division, {.cutting = cutting}); });
        EXPECT_EQ(x, expected);
      }
}

TYPED_TEST(Collectives, BroadcastCopiesFromEveryRoot) {
  for (const Index count : kCounts)
    for (int root = 0; root < ranks(); ++root)
      for (const Cutting& cutting : cuttings<TypeParam>()) {
        std::vector<TypeParam> x = values<TypeParam>(rank(), count);
        expect_traffic(Kind::broadcast, Algorithm::binomial,
                       plan::binomial_broadcast_traffic(rank(), ranks(), root, count),
                       plan::binomial_broadcast(rank(), ranks(), root, count), this->kBytes, cutting,
                       [&] { broadcast(world(), x, root, {.cutting = cutting}); });
        EXPECT_EQ(x, values<TypeParam>(root, count));
      }
}

TYPED_TEST(Collectives, ReduceSumsOnEveryRoot) {
  for (const Index count : kCounts)
    for (int root = 0; root < ranks(); ++root)
      for (const Cutting& cutting : cuttings<TypeParam>()) {
        std::vector<TypeParam> x = values<TypeParam>(rank(), count);
        expect_traffic(Kind::reduce, Algorithm::binomial,
                       plan::binomial_reduce_traffic(rank(), ranks(), root, count),
                       plan::binomial_reduce(rank(), ranks(), root, count), this->kBytes, cutting,
                       [&] { reduce(world(), x, root, {.cutting = cutting}); });
        if (rank() == root) {
          EXPECT_EQ(x, sums_of_values<TypeParam>(ranks(), count));
        }
      }
}

TEST(Barrier, EndsAfterAllHaveBegun) {
  expect_traffic(Kind::barrier, Algorithm::dissemination, plan::dissemination_barrier_traffic(ranks()),
                 plan::dissemination_barrier(rank(), ranks()), bytes_of(Element::i32), {},
                 [] { barrier(world()); });

  for (int last = 0; last < ranks(); ++last) {
    std::vector<Index> ready(1);
    if (rank() == last) {
      for (int from = 0; from < ranks(); ++from)
        if (from != last) receive_async(world(), ready, from).wait();
      barrier(world());
    } else {
      const Work work = barrier_async(world());
      for (int i = 0; i < 100; ++i) EXPECT_FALSE(work.poll());
      send_async(world(), ready, last).wait();
      work.wait();
    }
  }
}

TEST(Agreement, IsTheSameOnAllRanks) {
  EXPECT_EQ(sum(world(), 0.5), 0.5 * ranks());
  EXPECT_EQ(sum(world(), rank()), ranks() * (ranks() - 1) / 2);
  EXPECT_EQ(sum(world(), Index{1} << 40), ranks() * (Index{1} << 40));
  EXPECT_EQ(max(world(), -rank()), 0);
  EXPECT_EQ(max(world(), rank() == ranks() - 1), 1);
  EXPECT_EQ(max(world(), 0.25 * rank()), 0.25 * (ranks() - 1));
  for (int bad = 0; bad < ranks(); ++bad)
    EXPECT_TRUE(std::isnan(max(world(), rank() == bad ? std::nan("") : static_cast<double>(rank()))));
}

// Numbers of very different sizes, so that a sum depends on its order.
std::vector<float> random_floats(int seed, Index count) {
  std::mt19937 random(static_cast<unsigned>(seed));
  std::lognormal_distribution<float> size(0, 4);
  std::vector<float> result(count);
  for (float& x : result) x = (random() % 2 ? 1.0F : -1.0F) * size(random);
  return result;
}

TEST(AllReduce, IsBitIdenticalOnAllRanksAndForAllCuttings) {
  const Index count = 1001;
  for (const Algorithm algorithm : {Algorithm::ring, Algorithm::recursive_doubling}) {
    std::vector<std::int32_t> first;
    for (const Cutting& cutting :
         {Cutting{}, Cutting{.segment_bytes = 4}, Cutting{.segment_bytes = 1000, .in_flight_bytes = 1},
          Cutting{.segment_bytes = 64, .in_flight_bytes = 1 << 20}}) {
      std::vector<float> x = random_floats(rank(), count);
      all_reduce(world(), x, {.algorithm = algorithm, .cutting = cutting});
      std::vector<std::int32_t> bits;
      for (const float v : x) bits.push_back(std::bit_cast<std::int32_t>(v));
      if (first.empty()) first = bits;
      EXPECT_EQ(bits, first) << to_string(algorithm);
    }
    std::vector<std::int32_t> bits_of_0 = first;
    broadcast(world(), bits_of_0, 0);
    EXPECT_EQ(first, bits_of_0);
  }
}

TEST(Collectives, RefuseWhatCannotBe) {
  std::vector<float> x(10);
  std::vector<std::byte> bytes(10);
  const auto many = std::vector<Range>(ranks() + 1);
  std::vector<Range> outside(ranks());
  outside[0] = {5, 6};
  EXPECT_THROW(all_reduce(world(), x, {.algorithm = Algorithm::binomial}), std::invalid_argument);
  EXPECT_THROW(broadcast(world(), x, 0, {.algorithm = Algorithm::ring}), std::invalid_argument);
  EXPECT_THROW(broadcast(world(), x, ranks()), std::invalid_argument);
  EXPECT_THROW(reduce_scatter(world(), x, many), std::invalid_argument);
  EXPECT_THROW(all_gather(world(), x, outside), std::invalid_argument);
  EXPECT_THROW(all_reduce(world(), x, {.cutting = {.segment_bytes = 3}}), std::invalid_argument);
  EXPECT_THROW(all_reduce(world(), x, {.cutting = {.message_limit_bytes = Index{1} << 31}}),
               std::invalid_argument);
  EXPECT_THROW(all_reduce(world(), bytes), std::invalid_argument);
  EXPECT_THROW(parse_algorithm("rings"), std::invalid_argument);
  EXPECT_EQ(parse_algorithm("ring"), Algorithm::ring);
}

}  // namespace
}  // namespace tessera::dist
