#include "dist/plan/automatic.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "tests/dist/plan/calls.h"

namespace tessera::plan {
namespace {

const Network kNetwork{.node = {.alpha_s = 1e-6, .beta_s_per_byte = 1e-10, .per_message_s = 5e-7},
                       .across = {.alpha_s = 1e-5, .beta_s_per_byte = 1e-9, .per_message_s = 5e-6},
                       .add_s_per_byte = 1e-10};

double price(Kind kind, Algorithm algorithm, double bytes, int ranks) {
  return predicted_s(kind, algorithm, bytes, {ranks, ranks}, kNetwork);
}

TEST(PredictedTime, IsThatOfTheTextbook) {
  const double alpha = 1e-6, beta = 1e-10, gamma = 1e-10, n = 1e6;
  EXPECT_DOUBLE_EQ(price(Kind::all_reduce, Algorithm::ring, n, 4),
                   6 * alpha + 2 * n * 3 / 4 * beta + n * 3 / 4 * gamma);
  EXPECT_DOUBLE_EQ(price(Kind::all_reduce, Algorithm::recursive_doubling, n, 4),
                   2 * alpha + 2 * n * (beta + gamma));
  EXPECT_DOUBLE_EQ(price(Kind::all_reduce, Algorithm::halving_doubling, n, 4),
                   4 * alpha + 2 * n * 3 / 4 * beta + n * 3 / 4 * gamma);
  EXPECT_DOUBLE_EQ(price(Kind::broadcast, Algorithm::binomial, n, 8), 3 * (alpha + n * beta));
  EXPECT_DOUBLE_EQ(price(Kind::all_to_all, Algorithm::pairwise, n, 8), alpha + 6 * 5e-7 + n * 7 / 8 * beta);
  EXPECT_DOUBLE_EQ(price(Kind::all_gather, Algorithm::bruck, n, 6), 3 * alpha + n * 5 / 6 * beta);
}

TEST(PredictedTime, CountsTheMessagesAndBytesOfTheBusiestRank) {
  // On a network where only bytes cost, where they divide evenly: the formula of the rounds.
  const Network bytes_only{.node = {0, 1, 0}, .across = {0, 1, 0}, .add_s_per_byte = 0};
  const Index count = 8 * 3 * 5 * 7;
  for (const Kind kind : {Kind::all_reduce, Kind::reduce_scatter, Kind::all_gather, Kind::all_to_all})
    for (const Algorithm algorithm : algorithms_of(kind)) {
      if (algorithm == Algorithm::hierarchical || algorithm == Algorithm::binomial) continue;
      for (const int ranks : {1, 2, 4, 8, 7}) {
        const bool folds =
            algorithm == Algorithm::halving_doubling || algorithm == Algorithm::recursive_doubling;
        if (ranks == 7 && folds) continue;  // pairs wait in turn, so the longest chain is no one rank's
        Index most = 0;
        for (int rank = 0; rank < ranks; ++rank) {
          Call call{.kind = kind, .rank = rank, .ranks = ranks, .count = count};
          if (has_parts(kind)) call.parts = shares(count, ranks);
          if (kind == Kind::all_to_all)
            call = all_to_all_call(rank, ranks, [&](int, int) { return count / ranks; });
          most = std::max(most, schedule_traffic(call, algorithm).sent.elements);
        }
        EXPECT_NEAR(predicted_s(kind, algorithm, static_cast<double>(count), {ranks, ranks}, bytes_only),
                    static_cast<double>(most), 1e-9)
            << to_string(kind) << ' ' << to_string(algorithm) << ", " << ranks << " ranks";
      }
    }
}

TEST(Automatic, TakesFewRoundsForFewBytesAndFewBytesForMany) {
  for (const int ranks : {3, 4, 8, 64}) {
    const Topology node{ranks, ranks};
    EXPECT_EQ(choose_algorithm(Kind::all_reduce, 8, node, kNetwork), Algorithm::recursive_doubling);
    EXPECT_NE(choose_algorithm(Kind::all_reduce, 1e8, node, kNetwork), Algorithm::recursive_doubling);
    EXPECT_EQ(choose_algorithm(Kind::broadcast, 8, node, kNetwork), Algorithm::binomial);
  }
  EXPECT_EQ(choose_algorithm(Kind::all_reduce, 1e8, {7, 7}, kNetwork), Algorithm::ring);
  EXPECT_EQ(choose_algorithm(Kind::broadcast, 1e8, {64, 64}, kNetwork), Algorithm::ring);
  EXPECT_EQ(choose_algorithm(Kind::all_gather, 8, {7, 7}, kNetwork), Algorithm::bruck);
  EXPECT_EQ(choose_algorithm(Kind::all_to_all, 8, {64, 64}, kNetwork), Algorithm::bruck);
  EXPECT_EQ(choose_algorithm(Kind::all_to_all, 1e8, {64, 64}, kNetwork), Algorithm::pairwise);
  EXPECT_EQ(choose_algorithm(Kind::barrier, 0, {8, 8}, kNetwork), Algorithm::dissemination);
  EXPECT_EQ(choose_algorithm(Kind::point_to_point, 8, {8, 8}, kNetwork), Algorithm::direct);
}

TEST(Automatic, IsHierarchicalOnlyAcrossNodesOfSeveralRanks) {
  EXPECT_EQ(choose_algorithm(Kind::all_reduce, 1e6, {64, 8}, kNetwork), Algorithm::hierarchical);
  for (const double bytes : {8.0, 1e4, 1e6, 1e8}) {
    EXPECT_NE(choose_algorithm(Kind::all_reduce, bytes, {8, 8}, kNetwork), Algorithm::hierarchical);
    EXPECT_NE(choose_algorithm(Kind::all_reduce, bytes, {8, 1}, kNetwork), Algorithm::hierarchical);
  }
}

TEST(Automatic, ChoosesForEveryCollectiveOnEveryNumberOfRanks) {
  for (const Kind kind : kKinds)
    for (int ranks = 1; ranks <= 70; ++ranks)
      for (const int ranks_per_node : {1, 3, ranks})
        for (const double bytes : {0.0, 8.0, 1e5, 1e9}) {
          const Algorithm algorithm = choose_algorithm(kind, bytes, {ranks, ranks_per_node}, Network{});
          ASSERT_TRUE(has_algorithm(kind, algorithm)) << to_string(kind) << ", " << ranks << " ranks";
        }
}

TEST(PredictedTime, RejectsWhatHasNone) {
  EXPECT_THROW(price(Kind::all_gather, Algorithm::pairwise, 8, 2), std::invalid_argument);
  EXPECT_THROW(price(Kind::all_reduce, Algorithm::automatic, 8, 2), std::invalid_argument);
  EXPECT_THROW(price(Kind::all_reduce, Algorithm::ring, 8, 0), std::invalid_argument);
}

}  // namespace
}  // namespace tessera::plan
