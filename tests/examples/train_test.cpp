#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>

#include "dist/trace/account.h"
#include "tests/examples/child.h"

namespace tessera {
namespace {

using nlohmann::json;
using Words = std::vector<std::string>;

/// A text that is quickly validated on, with something to learn: squares modulo 26.
std::string squares() {
  std::string text(4000, ' ');
  for (std::size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>('a' + i * i % 26);
  return text;
}

/// Arguments of a run of a moment.
Words small(const Words& more) {
  Words arguments = {"--model", "gpt-pico",     "--batch", "4",         "--steps",
                     "4",       "--eval-every", "2",       "--threads", "1"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

/// What a small run measured.
json measured(const Words& more) {
  const Folder folder;
  Words arguments =
      small({"--json", folder.path("run.json"), "--data", folder.file("squares.txt", squares())});
  for (const std::string& argument : more) {
    // A flag that is given again takes the place of the small run's.
    const auto given = std::ranges::find(arguments, argument);
    if (argument.starts_with("--") && given != arguments.end()) arguments.erase(given, given + 2);
    arguments.push_back(argument);
  }
  const Outcome outcome = run("train", arguments);
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  return read_json(folder.path("run.json"));
}

json losses(const json& run) {
  json result;
  for (const json& step : run["steps"]) result.push_back(step["loss"]);
  return result;
}

TEST(Train, JsonHasTheFields) {
  const json run = measured({});
  EXPECT_EQ(run["config"]["model"]["name"], "gpt-pico");
  EXPECT_EQ(run["config"]["batch"], 4);
  EXPECT_EQ(run["layout"]["ranks"], 1);
  EXPECT_EQ(run["layout"]["dp"], 1);
  ASSERT_EQ(run["steps"].size(), 4u);
  for (const char* field : {"step", "loss", "grad_norm", "tokens", "lr", "step_s", "tokens_per_s",
                            "compute_s", "optimizer_s", "data_s", "other_s"}) {
    EXPECT_TRUE(run["steps"][0][field].is_number()) << field;
  }
  ASSERT_EQ(run["validation"].size(), 2u);
  EXPECT_EQ(run["validation"][1]["step"], 4);
  EXPECT_GT(run["validation"][1]["loss"], 0);

  const json& rank = run["ranks"].at(0);
  EXPECT_EQ(rank["rank"], 0);
  EXPECT_FALSE(rank["node"].get<std::string>().empty());
  EXPECT_EQ(rank["peak_bytes"]["parameter"], 4 * rank["parameters"].get<Index>());
  EXPECT_GT(rank["peak_rss_bytes"], rank["peak_bytes"]["activation"]);
  EXPECT_GT(run["peak_gemm_flops"], 0);
  EXPECT_GT(run["mfu"], 0);
}

TEST(Train, OtherIsASmallPartOfAStep) {
  std::vector<double> shares;
  for (const json& step : measured({"--steps", "11"})["steps"]) {
    for (const char* part : {"compute_s", "optimizer_s", "data_s", "other_s"}) EXPECT_GT(step[part], 0);
    shares.push_back(step["other_s"].get<double>() / step["step_s"].get<double>());
  }
  EXPECT_LT(dist::median(shares), 0.1);  // other programs may take any one step's processor away
}

TEST(Train, Learns) {
  const json run = measured({"--steps", "40", "--warmup", "5", "--lr", "1e-2"});
  EXPECT_LT(run["validation"].back()["loss"].get<double>(), run["steps"][0]["loss"].get<double>() - 1);
}

TEST(Train, SameSeedSameLosses) { EXPECT_EQ(losses(measured({})), losses(measured({}))); }

TEST(Train, EachFlagChangesTheLosses) {
  const Folder folder;
  const std::string text = folder.file("text.txt", std::string(3000, 'x') + "y");
  const json base = losses(measured({}));
  const std::vector<Words> changes = {
      {"--layers", "1"},   {"--dim", "48"},           {"--heads", "1"},   {"--kv-heads", "1"},
      {"--ffn-dim", "50"}, {"--context", "16"},       {"--vocab", "300"}, {"--norm", "rms"},
      {"--mlp", "swiglu"}, {"--position", "rope"},    {"--untied"},       {"--dropout", "0.5"},
      {"--data", text},    {"--batch", "3"},          {"--lr", "1e-2"},   {"--warmup", "0"},
      {"--seed", "2"},     {"--optimizer", "sgd"},    {"--dtype", "f64"}, {"--weight-decay", "100"},
      {"--clip", "1e-9"},  {"--model", "llama-nano"},
  };
  for (const Words& change : changes) EXPECT_NE(losses(measured(change)), base) << change[0];
}

TEST(Train, DecayAndMomentumChangeTheLosses) {
  const Words decaying = {"--warmup", "0", "--lr", "1e-2"}, sgd = {"--optimizer", "sgd", "--warmup", "0"};
  const auto with = [](Words arguments, const char* flag, const char* value) {
    arguments.insert(arguments.end(), {flag, value});
    return losses(measured(arguments));
  };
  EXPECT_NE(with(decaying, "--lr-decay", "constant"), losses(measured(decaying)));
  EXPECT_NE(with(decaying, "--lr-decay", "linear"), losses(measured(decaying)));
  EXPECT_NE(with(sgd, "--momentum", "0.9"), losses(measured(sgd)));
}

TEST(Train, RecomputeAndMicrobatchesTakeLessMemory) {
  const auto activations = [](const Words& more) {
    Words arguments = {"--batch", "16", "--layers", "8", "--steps", "2"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return measured(arguments)["ranks"][0]["peak_bytes"]["activation"].get<Index>();
  };
  const Index none = activations({}), selective = activations({"--recompute", "selective"});
  EXPECT_LT(selective, none);
  EXPECT_LT(activations({"--recompute", "full"}), selective);
  EXPECT_LT(activations({"--microbatches", "4"}), none / 2);
}

TEST(Train, NonFiniteLossFailsAndLeavesNothing) {
  const Folder folder;
  const Words broken = {"--lr", "1e30",   "--optimizer",        "sgd",    "--clip",
                        "0",    "--save", folder.path("model"), "--json", folder.path("run.json")};
  const Outcome outcome = run("train", small(broken));
  EXPECT_EQ(outcome.status, 1);
  EXPECT_EQ(std::ranges::count(outcome.err, '\n'), 1) << outcome.err;
  EXPECT_NE(outcome.err.find("nan"), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find("step 1"), std::string::npos) << outcome.err;
  EXPECT_EQ(folder.names(), Words{"model"});  // the folder, empty
}

TEST(Train, InterruptFinishesTheStepAndSaves) {
  for (const int signal : {SIGINT, SIGTERM}) {
    const Folder folder;
    Child child("train", {"--model", "gpt-pico", "--steps", "1000000", "--json", folder.path("run.json"),
                          "--save", folder.path("model")});
    ASSERT_TRUE(child.wait_for("loss"));
    child.send(signal);
    const Outcome outcome = child.finish();
    EXPECT_EQ(outcome.status, 130);
    EXPECT_NE(outcome.out.find("interrupted after"), std::string::npos) << outcome.out;
    EXPECT_GE(read_json(folder.path("run.json"))["steps"].size(), 1u);
    EXPECT_EQ(run("generate", {"--checkpoint", folder.path("model"), "--tokens", "1"}).status, 0);
  }
}

}  // namespace
}  // namespace tessera
