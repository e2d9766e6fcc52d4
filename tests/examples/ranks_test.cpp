// train under mpirun: the same losses on every number of ranks, and clean ends.

#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>

#include "tests/examples/child.h"

namespace tessera {
namespace {

using nlohmann::json;
using Words = std::vector<std::string>;

Words small(const Words& more) {
  Words arguments = {"--model", "gpt-pico", "--dtype", "f64", "--batch", "5", "--threads", "1"};
  if (std::ranges::find(more, "--steps") == more.end()) arguments.insert(arguments.end(), {"--steps", "5"});
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

json measured(const Words& more, int ranks) {
  const Folder folder;
  Words arguments = small(more);
  arguments.insert(arguments.end(), {"--json", folder.path("run.json")});
  const Outcome outcome = run("train", arguments, ranks);
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  return read_json(folder.path("run.json"));
}

void expect_equal_runs(const json& a, const json& b) {
  for (std::size_t i = 0; i < b["steps"].size(); ++i) {
    for (const char* field : {"loss", "grad_norm"}) {
      EXPECT_NEAR(a["steps"][i][field].get<double>() / b["steps"][i][field].get<double>(), 1, 1e-11)
          << field << i;
    }
    EXPECT_EQ(a["steps"][i]["tokens"], b["steps"][i]["tokens"]);
  }
  EXPECT_NEAR(a["validation"].back()["loss"].get<double>(), b["validation"].back()["loss"].get<double>(),
              1e-9);
}

TEST(Ranks, TrainTheSameModel) {
  const json one = measured({"--dropout", "0.1"}, 0);
  for (const int ranks : {1, 2, 3, 8}) {  // 8: some hold no sequence
    SCOPED_TRACE(ranks);
    expect_equal_runs(measured({"--dropout", "0.1"}, ranks), one);
  }
  expect_equal_runs(measured({"--dropout", "0.1", "--microbatches", "3", "--recompute", "full"}, 2), one);
  for (const char* level : {"1", "2", "3"})
    expect_equal_runs(
        measured({"--dropout", "0.1", "--zero", level, "--bucket-mb", "0.01", "--check-collectives"}, 2),
        one);
}

TEST(Ranks, JsonTellsOfEachRankAndItsMessages) {
  const json run = measured({"--algorithm", "ring", "--dp", "3"}, 3);
  EXPECT_EQ(run["layout"]["dp"], 3);
  ASSERT_EQ(run["ranks"].size(), 3U);
  EXPECT_EQ(run["ranks"][2]["coords"]["dp"], 2);
  Index bytes = 0;
  for (const json& entry : run["comm"]) {
    if (entry["purpose"] != "gradients") continue;
    EXPECT_EQ(entry["algorithm"], "ring");
    EXPECT_EQ(entry["calls"], 5);
    bytes += entry["bytes"].get<Index>();
  }
  const double expected = 5 * 2.0 * 2 / 3 * 8 * run["ranks"][0]["parameters"].get<double>();
  EXPECT_NEAR(static_cast<double>(bytes), expected, 5 * 4 * 8);  // shares differ by an element
}

TEST(Ranks, ReplicasSaveOneModel) {
  const Folder folder;
  EXPECT_EQ(run("train", small({"--save", folder.path("model")}), 3).status, 0);
  EXPECT_EQ(run("generate", {"--checkpoint", folder.path("model"), "--tokens", "1"}).status, 0);
}

/// A run whose learning rate does not depend on its length, so that a shorter one is its beginning.
json measured_to(const char* steps, const Words& more, int ranks) {
  Words arguments = {"--steps", steps, "--warmup", "0", "--lr-decay", "constant", "--dropout", "0.1"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return measured(arguments, ranks);
}

TEST(Ranks, GoOnFromWhatOtherLayoutsSaved) {
  const Folder folder;
  const std::string place = folder.path("saved");
  const Words level3 = {"--zero", "3"}, level1 = {"--zero", "1", "--resume", place};
  const json whole = measured_to("5", level3, 2);
  measured_to("3", {"--zero", "3", "--save", place, "--save-every", "2"}, 2);
  const json same = measured_to("5", {"--zero", "3", "--resume", place}, 2);
  ASSERT_EQ(same["steps"].size(), 2U);
  for (std::size_t i = 0; i < 2; ++i) {
    for (const char* field : {"step", "loss", "grad_norm"})
      EXPECT_EQ(same["steps"][i][field], whole["steps"][i + 3][field]) << field << i;
  }
  const json other = measured_to("5", level1, 3);
  for (std::size_t i = 0; i < 2; ++i)
    EXPECT_NEAR(other["steps"][i]["loss"].get<double>() / whole["steps"][i + 3]["loss"].get<double>(), 1,
                1e-11);
  EXPECT_EQ(run("generate", {"--checkpoint", place, "--tokens", "1"}).status, 0);

  const Outcome refused = run("train", small({"--resume", place, "--dropout", "0.1", "--seed", "2"}), 2);
  EXPECT_EQ(refused.status, 2);
  EXPECT_NE(refused.err.find("seed is 1 there but 2 here"), std::string::npos) << refused.err;
}

TEST(Ranks, RefuseTogetherInOneLine) {
  for (const auto& [arguments, word] :
       std::vector<std::pair<Words, std::string>>{{{"--dp", "4"}, "dp=4"},
                                                  {{"--stesp", "3"}, "--stesp"},
                                                  {{"--shard", "3"}, "nothing to shard"},
                                                  {{"--zero", "1", "--shard", "2"}, "shard=2"},
                                                  {{"--save", "/proc/none"}, "/proc/none"}}) {
    const Outcome outcome = run("train", small(arguments), 3);
    EXPECT_EQ(outcome.status, 2);
    EXPECT_EQ(std::ranges::count(outcome.err, '\n'), 1) << outcome.err;
    EXPECT_TRUE(outcome.err.starts_with("train: ")) << outcome.err;
    EXPECT_NE(outcome.err.find(word), std::string::npos) << outcome.err;
  }
}

TEST(Ranks, FailTogetherOnALossThatIsNotFinite) {
  const Outcome outcome = run("train", small({"--lr", "1e300", "--optimizer", "sgd", "--clip", "0"}), 3);
  EXPECT_EQ(outcome.status, 1);
  EXPECT_EQ(std::ranges::count(outcome.err, '\n'), 1) << outcome.err;
  EXPECT_TRUE(outcome.err.starts_with("train: the ")) << outcome.err;
}

TEST(Ranks, StopTogetherWhenInterrupted) {
  Child child("train", {"--model", "gpt-pico", "--steps", "1000000"}, 3);
  ASSERT_TRUE(child.wait_for("loss"));
  child.send(SIGINT);
  const Outcome outcome = child.finish();
  EXPECT_NE(outcome.status, 0);
  EXPECT_NE(outcome.out.find("interrupted after"), std::string::npos) << outcome.out << outcome.err;
}

}  // namespace
}  // namespace tessera
