#include "dist/plan/rounds.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "dist/plan/ring.h"
#include "tests/dist/plan/simulator.h"

namespace tessera::plan {
namespace {

TEST(Share, SplitsEvenlyWithTheLargerPartsFirst) {
  EXPECT_EQ(shares(7, 3), (std::vector<Range>{{0, 3}, {3, 2}, {5, 2}}));
  EXPECT_EQ(shares(37, 2), (std::vector<Range>{{0, 19}, {19, 18}}));
  EXPECT_EQ(shares(2, 4), (std::vector<Range>{{0, 1}, {1, 1}, {2, 0}, {2, 0}}));
}

TEST(Share, CoversEverythingInOrder) {
  for (int ranks = 1; ranks <= 8; ++ranks)
    for (Index count = 0; count < 50; ++count) {
      Index end = 0;
      for (int i = 0; i < ranks; ++i) {
        const Range part = share(count, ranks, i);
        EXPECT_EQ(part.begin, end);
        EXPECT_EQ(part.size, count / ranks + (i < count % ranks ? 1 : 0));
        end = part.end();
      }
      EXPECT_EQ(end, count);
    }
}

TEST(Share, HoldsCountsBeyondInt) {
  const Index count = Index{1} << 40;
  EXPECT_EQ(share(count, 3, 2).end(), count);
}

TEST(Share, RejectsImpossibleSplits) {
  EXPECT_THROW(share(5, 2, 2), std::invalid_argument);
  EXPECT_THROW(share(5, 2, -1), std::invalid_argument);
  EXPECT_THROW(share(-1, 2, 0), std::invalid_argument);
  EXPECT_THROW(shares(5, 0), std::invalid_argument);
}

TEST(Disjoint, IgnoresOrderAndEmptyRanges) {
  EXPECT_TRUE(disjoint({}));
  EXPECT_TRUE(disjoint({{5, 2}, {0, 5}, {3, 0}}));
  EXPECT_FALSE(disjoint({{5, 2}, {0, 6}}));
  EXPECT_FALSE(disjoint({{0, 9}, {3, 1}}));
}

TEST(Traffic, CountsEachMessageOnceAndEmptyRangesNever) {
  const Rounds rounds = {{{.send = {0, 3}, .to = 1}, {.send = {3, 0}, .to = 2}},
                         {},
                         {{.send = {1, 2}, .to = 1, .receive = {4, 7}, .from = 2, .combine = Combine::add}}};
  EXPECT_EQ(traffic(rounds), (Traffic{.sent = {2, 5}, .received = {1, 7}}));
  EXPECT_EQ(traffic(concatenate(rounds, rounds)), traffic(rounds) + traffic(rounds));
  EXPECT_EQ(traffic({}), Traffic{});
}

TEST(Parts, MayHaveGapsAndAnyOrderButNoOverlap) {
  EXPECT_NO_THROW(require_parts("op", 2, {{6, 2}, {0, 3}, {9, 0}}));
  EXPECT_THROW(require_parts("op", 0, {{0, 4}, {3, 3}}), std::invalid_argument);
  EXPECT_THROW(require_parts("op", 0, {{0, -1}}), std::invalid_argument);
  EXPECT_THROW(require_parts("op", 0, {{-1, 1}}), std::invalid_argument);
  EXPECT_THROW(require_parts("op", 0, {}), std::invalid_argument);
}

TEST(Errors, NameTheOpAndBothValues) {
  try {
    ring_all_reduce(5, 4, 10);
    FAIL();
  } catch (const std::invalid_argument& error) {
    EXPECT_STREQ(error.what(), "[ring_all_reduce] rank 5 of 4 ranks");
  }
}

TEST(Parts, InARowMakeOneHull) {
  const std::vector<Range> parts = in_a_row({3, 0, 4}, 10);
  EXPECT_EQ(parts, (std::vector<Range>{{10, 3}, {13, 0}, {13, 4}}));
  EXPECT_EQ(sizes_of(parts), (std::vector<Index>{3, 0, 4}));
  EXPECT_EQ(hull(parts, 0, 3), (Range{10, 7}));
  EXPECT_EQ(hull(parts, 1, 2), (Range{13, 0}));
  EXPECT_EQ(hull(parts, 2, 2), Range{});
}

TEST(Traffic, IgnoresCopiesAndTurnsRoundWithTheRounds) {
  const Rounds rounds = {{copy_here({0, 5}, {5, 5})}, {{.send = {0, 2}, .to = 1}}};
  EXPECT_EQ(traffic(rounds), (Traffic{.sent = {1, 2}}));
  EXPECT_EQ(traffic(reversed(rounds, Combine::copy)), reversed(traffic(rounds)));
}

}  // namespace
}  // namespace tessera::plan
