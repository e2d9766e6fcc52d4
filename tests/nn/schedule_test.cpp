#include "nn/schedule.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <vector>

#include "tests/tensor/gradcheck.h"

namespace tessera::nn {
namespace {

using tessera::testing::error_of;

std::vector<double> rates(const Schedule& schedule, Index from = 0) {
  std::vector<double> result;
  for (Index step = from; step < schedule.steps; ++step) result.push_back(learning_rate(schedule, step));
  return result;
}

constexpr Decay kDecays[] = {Decay::cosine, Decay::linear, Decay::constant};

TEST(Schedule, WarmsUpFromMoreThanZeroToThePeak) {
  for (const Decay decay : kDecays) {
    const Schedule schedule = {.peak = 0.5, .warmup = 4, .steps = 20, .decay = decay};
    EXPECT_EQ(learning_rate(schedule, 0), 0.125);
    EXPECT_EQ(learning_rate(schedule, 1), 0.25);
    EXPECT_EQ(learning_rate(schedule, 3), 0.5);
  }
}

TEST(Schedule, StartsAtThePeakWithoutWarmUp) {
  for (const Index warmup : {0, 1}) {
    for (const Decay decay : kDecays) {
      EXPECT_EQ(learning_rate({.peak = 0.3, .warmup = warmup, .steps = 10, .decay = decay}, 0), 0.3);
    }
  }
}

TEST(Schedule, EndsAtTheFinalRate) {
  for (const Index warmup : {0, 1, 5}) {
    const Schedule schedule = {.peak = 0.3, .warmup = warmup, .steps = 20, .final_fraction = 0.1};
    EXPECT_EQ(rates(schedule).back(), 0.3 * 0.1);
  }
  EXPECT_EQ(rates({.peak = 0.3, .steps = 20, .decay = Decay::linear, .final_fraction = 0}).back(), 0);
  EXPECT_EQ(rates({.peak = 0.3, .steps = 20, .decay = Decay::constant}).back(), 0.3);
}

TEST(Schedule, FollowsItsFormula) {
  const Index warmup = 3, steps = 21;
  for (Index step = warmup; step < steps; ++step) {
    const double t = static_cast<double>(step - (warmup - 1)) / static_cast<double>(steps - warmup);
    const double cosine = 0.2 + 0.8 * (1 + std::cos(std::numbers::pi * t)) / 2, linear = 1 - 0.8 * t;
    // A few roundings of numbers below 1.
    EXPECT_NEAR(learning_rate({1, warmup, steps, Decay::cosine, 0.2}, step), cosine, 1e-15);
    EXPECT_NEAR(learning_rate({1, warmup, steps, Decay::linear, 0.2}, step), linear, 1e-15);
    EXPECT_EQ(learning_rate({1, warmup, steps, Decay::constant, 0.2}, step), 1);
  }
}

TEST(Schedule, NeverRisesAfterTheWarmUp) {
  for (const Decay decay : kDecays) {
    const std::vector<double> rate = rates({.warmup = 5, .steps = 30, .decay = decay});
    for (std::size_t step = 5; step < rate.size(); ++step) EXPECT_LE(rate[step], rate[step - 1]);
  }
}

// A resumed run asks for the same steps, in whatever order and beside whatever other schedule.
TEST(Schedule, OfARunSplitAnywhereIsTheSame) {
  const Schedule a = {.peak = 1e-3, .warmup = 4, .steps = 21}, b = {.peak = 7e-2, .warmup = 2, .steps = 21};
  const std::vector<double> whole = rates(a);
  for (Index k = 0; k < a.steps; ++k) {
    std::vector<double> split;
    for (Index step = 0; step < k; ++step) split.push_back(learning_rate(a, step)), learning_rate(b, step);
    for (const double rate : rates(a, k)) split.push_back(rate);
    EXPECT_EQ(split, whole) << "split at " << k;
  }
}

TEST(Schedule, MayBeShorterThanItsWarmUp) {
  EXPECT_EQ(rates({.peak = 1, .warmup = 4, .steps = 2}), (std::vector<double>{0.25, 0.5}));
  EXPECT_EQ(rates({.peak = 1, .warmup = 2, .steps = 2}), (std::vector<double>{0.5, 1}));
  EXPECT_EQ(rates({.peak = 1, .warmup = 0, .steps = 1}), (std::vector<double>{1}));
}

TEST(Schedule, RefusesWhatCannotBe) {
  EXPECT_NE(error_of([] { learning_rate({.steps = 10}, 10); }).find("step 10 of a schedule of 10"),
            std::string::npos);
  EXPECT_NE(error_of([] { learning_rate({.steps = 10}, -1); }).find("step -1"), std::string::npos);
  EXPECT_NE(error_of([] { learning_rate({.peak = -0.5}, 0); }).find("peak is -0.5"), std::string::npos);
  EXPECT_NE(error_of([] { learning_rate({.peak = NAN}, 0); }).find("nan"), std::string::npos);
  EXPECT_NE(error_of([] { learning_rate({.warmup = -2}, 0); }).find("warmup is -2"), std::string::npos);
  EXPECT_NE(error_of([] { learning_rate({.final_fraction = 1.5}, 0); }).find("final_fraction is 1.5"),
            std::string::npos);
}

TEST(Decay, NamesGoBothWays) {
  for (const Decay decay : kDecays) EXPECT_EQ(decay_from(to_string(decay)), decay);
  EXPECT_EQ(error_of([] { decay_from("step"); }), "[decay] got \"step\", expected cosine|linear|constant");
}

}  // namespace
}  // namespace tessera::nn
