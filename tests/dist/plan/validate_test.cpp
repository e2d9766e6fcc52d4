#include "dist/plan/validate.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

namespace tessera::plan {
namespace {

std::string fault(const std::vector<Rounds>& by_rank, Index count = 10) {
  try {
    validate(by_rank, count);
    return "";
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
}

Round send(Range range, int to) { return {{.send = range, .to = to}}; }

Round receive(Range range, int from, Combine combine = Combine::copy) {
  return {{.receive = range, .from = from, .combine = combine}};
}

TEST(Validate, AcceptsMatchedMessages) {
  EXPECT_EQ(fault({{}}), "");
  EXPECT_EQ(fault({{send({0, 3}, 1), {}}, {receive({5, 3}, 0), {}}}), "");
}

TEST(Validate, IgnoresEmptyRanges) { EXPECT_EQ(fault({{send({0, 0}, 7)}, {{}}}), ""); }

TEST(Validate, RejectsMissingRanksAndRounds) {
  EXPECT_EQ(fault({}), "[validate] no ranks");
  EXPECT_EQ(fault({{{}}, {{}, {}}}), "[validate] rank 0 has 1 rounds, rank 1 has 2");
}

TEST(Validate, RejectsPeersThatAreNot) {
  EXPECT_EQ(fault({{send({0, 3}, 2)}, {{}}}), "[validate] round 0: rank 0 of 2 sends [0, 3) with rank 2");
  EXPECT_EQ(fault({{{}}, {receive({0, 3}, -1)}}),
            "[validate] round 0: rank 1 of 2 receives [0, 3) with rank -1");
  EXPECT_EQ(fault({{send({0, 3}, 0)}}), "[validate] round 0: rank 0 of 1 sends [0, 3) with rank 0");
}

TEST(Validate, RejectsRangesOutsideTheBuffer) {
  EXPECT_EQ(fault({{send({8, 3}, 1)}, {receive({0, 3}, 0)}}),
            "[validate] round 0: rank 0 of 2 sends [8, 11) of 10 elements");
  EXPECT_EQ(fault({{send({0, 3}, 1)}, {receive({-1, 3}, 0)}}),
            "[validate] round 0: rank 1 of 2 receives [-1, 2) of 10 elements");
  EXPECT_EQ(fault({{send({5, -1}, 1)}, {{}}}), "[validate] round 0: rank 0 of 2 sends [5, 4) of 10 elements");
}

TEST(Validate, RejectsUnmatchedMessages) {
  EXPECT_EQ(fault({{send({0, 3}, 1)}, {receive({0, 2}, 0)}}),
            "[validate] round 0: rank 0 sends 3 elements, rank 1 receives 2");
  EXPECT_EQ(fault({{{}, send({0, 3}, 1)}, {{}, {}}}),
            "[validate] round 1: rank 0 sends 3 elements, rank 1 receives 0");
  EXPECT_EQ(fault({{{}}, {receive({0, 2}, 0)}}),
            "[validate] round 0: rank 0 sends 0 elements, rank 1 receives 2");
  EXPECT_NE(fault({{send({0, 3}, 1), {}}, {{}, receive({0, 3}, 0)}}), "");  // in different rounds
}

TEST(Validate, MatchesSeveralMessagesOfAPairInStepOrder) {
  const Round sends = {{.send = {0, 1}, .to = 1}, {.send = {1, 2}, .to = 1}};
  const Round same = {{.receive = {0, 1}, .from = 0}, {.receive = {1, 2}, .from = 0}};
  const Round swapped = {{.receive = {1, 2}, .from = 0}, {.receive = {0, 1}, .from = 0}};
  EXPECT_EQ(fault({{sends}, {same}}), "");
  EXPECT_EQ(fault({{sends}, {swapped}}), "[validate] round 0: rank 0 sends 1 elements, rank 1 receives 2");
}

TEST(Validate, RejectsResultsThatDependOnArrival) {
  const Round overlapping = {{.receive = {0, 3}, .from = 0, .combine = Combine::add},
                             {.receive = {2, 3}, .from = 2, .combine = Combine::add}};
  EXPECT_EQ(fault({{send({0, 3}, 1)}, {overlapping}, {send({0, 3}, 1)}}),
            "[validate] round 0: rank 1 of 3 receives overlapping ranges");
}

TEST(Validate, LetsOnlyAddsOverlapSends) {
  const auto exchange = [](int peer, Combine combine) {
    return Round{{.send = {0, 3}, .to = peer, .receive = {1, 3}, .from = peer, .combine = combine}};
  };
  EXPECT_EQ(fault({{exchange(1, Combine::add)}, {exchange(0, Combine::add)}}), "");
  EXPECT_EQ(fault({{exchange(1, Combine::copy)}, {exchange(0, Combine::copy)}}),
            "[validate] round 0: rank 0 of 2 copies into [1, 4) while it sends [0, 3)");
}

TEST(Validate, AcceptsOnlyCopiesOfEqualSizeHere) {
  const auto alone = [](const Step& step) { validate({{{step}}}, 10); };
  EXPECT_NO_THROW(alone(copy_here({0, 5}, {5, 5})));
  EXPECT_THROW(alone(copy_here({0, 5}, {5, 4})), std::invalid_argument);
  EXPECT_THROW(alone(copy_here({0, 5}, {4, 5})), std::invalid_argument);
  EXPECT_THROW(
      alone({.send = {0, 5}, .to = kHere, .receive = {5, 5}, .from = kHere, .combine = Combine::add}),
      std::invalid_argument);
}

}  // namespace
}  // namespace tessera::plan
