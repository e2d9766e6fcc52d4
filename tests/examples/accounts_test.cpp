// What train tells of where the time went.

#include <gtest/gtest.h>

#include "dist/trace/account.h"
#include "tests/dist/trace/timeline.h"
#include "tests/examples/child.h"

namespace tessera {
namespace {

using nlohmann::json;
using Words = std::vector<std::string>;

constexpr int kSteps = 8;

/// gpt-nano as it is, but for a few steps, one validation and short sequences of it.
json measured(int ranks, const Words& more = {}) {
  const Folder folder;
  Words arguments = {"--steps", std::to_string(kSteps), "--threads", "1", "--json", folder.path("run.json")};
  arguments.insert(arguments.end(), more.begin(), more.end());
  const Outcome outcome = run("train", arguments, ranks);
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  return read_json(folder.path("run.json"));
}

class Accounts : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Ranks, Accounts, ::testing::Values(1, 2, 4));

void expect_parts_that_add_up(const json& steps) {
  std::vector<double> others;
  for (std::size_t i = 0; i < kSteps; ++i) {
    double sum_s = 0;
    for (const auto& [name, part] : dist::kStepParts)
      if (std::string(name) != "step_s" && std::string(name) != "hidden_comm_s")
        sum_s += steps[name][i].get<double>();
    EXPECT_NEAR(sum_s, steps["step_s"][i], 1e-9);
    others.push_back(steps["other_s"][i].get<double>() / steps["step_s"][i].get<double>());
  }
  EXPECT_LE(dist::median(others), 0.03);
}

TEST_P(Accounts, PartsAddUpOtherIsSmallAndKeepingThemIsCheap) {
  const json run = measured(GetParam());
  ASSERT_EQ(run["ranks"].size(), static_cast<std::size_t>(GetParam()));
  for (const json& rank : run["ranks"]) {
    SCOPED_TRACE(rank["rank"]);
    expect_parts_that_add_up(rank["steps"]);
    EXPECT_GT(rank["events_per_step"], 100);
    const double cost_s = rank["events_per_step"].get<double>() * rank["event_cost_s"].get<double>();
    EXPECT_LE(cost_s, 0.01 * rank["mean"]["step_s"].get<double>());
  }
}

TEST(Timeline, OfARunHasAllRanksAndFollowsTheFormat) {
  const Folder folder;
  const std::string path = folder.path("timeline.json");
  const Outcome outcome = run("train",
                              {"--model", "gpt-pico", "--steps", "25", "--batch", "4", "--threads", "1",
                               "--bucket-mb", "0.02", "--trace", path},
                              3);
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const dist::TimelineFacts facts = dist::check_timeline(read_json(path), 3);
  EXPECT_EQ(facts.slices.at("step"), 3 * 20);
  EXPECT_EQ(facts.slices.at("data"), 3 * 20);
  EXPECT_GT(facts.slices.at("op"), 3 * 20 * 20);
  EXPECT_GT(facts.slices.at("operation"), 3 * 20 * 3);
  EXPECT_GT(facts.arrows, 3 * 20);
}

TEST(Timeline, IsRefusedWhereItCannotBeWritten) {
  EXPECT_EQ(run("train", {"--trace", "/proc/none"}).status, 2);
}

}  // namespace
}  // namespace tessera
