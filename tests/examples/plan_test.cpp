#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <sstream>

#include "tests/examples/child.h"

namespace tessera {
namespace {

using nlohmann::json;
using Words = std::vector<std::string>;

Outcome plan(const Words& arguments) { return run("plan", arguments); }

/// The answer that --json writes.
json answer(Words arguments) {
  const Folder folder;
  arguments.insert(arguments.end(), {"--json", folder.path("answer.json")});
  const Outcome outcome = plan(arguments);
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  return read_json(folder.path("answer.json"))["answer"];
}

const std::vector<Words> kCommands = {{"roofline", "--devices", "512"},
                                      {"memory", "--tp", "8", "--batch", "1M"},
                                      {"pipeline"},
                                      {"search", "--devices", "64"},
                                      {"collective"},
                                      {"list"}};

TEST(Plan, EveryCommandEndsWithAVerdict) {
  for (const Words& command : kCommands) {
    const Outcome outcome = plan(command);
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    const std::string verdict = answer(command)["verdict"];
    EXPECT_TRUE(outcome.out.ends_with(verdict + "\n")) << outcome.out;
    EXPECT_EQ(verdict.back(), '.') << verdict;
  }
}

TEST(Plan, TakesUnitsAsPeopleWriteThem) {
  EXPECT_EQ(answer({"roofline", "--batch", "2M", "--dp", "64", "--strategy", "dp"})["batch"], 2e6);
  EXPECT_EQ(answer({"collective", "--bytes", "16GiB"})["bytes"], 17179869184.0);
  const Folder folder;
  const std::string file = folder.file("mine.json", R"({"base": "h100", "link_bandwidth": "300GB/s"})");
  EXPECT_EQ(answer({"collective", "--hardware", file})["hardware"]["link_bandwidth"], 300e9);
}

TEST(Plan, TakesModelsOfTrain) {
  const json nano = answer({"memory", "--model", "gpt-nano", "--state", "f32"});
  EXPECT_EQ(nano["whole"]["parameters"], 842496);  // what train counts
  const Folder folder;
  const std::string own = folder.file("own.json", R"({"dim": 64, "layers": 3, "heads": 4})");
  EXPECT_EQ(answer({"memory", "--model", own})["model"]["layers"], 3);
  const std::string moe =
      folder.file("moe.json", R"({"dim": 64, "ffn_dim": 32, "layers": 3, "experts": 8, "top_k": 2})");
  EXPECT_EQ(answer({"memory", "--model", moe})["model"]["experts"], 8);
}

TEST(Plan, ReportIsOnePageThatNeedsNothingElse) {
  for (const Words& command : kCommands) {
    const Folder folder;
    Words arguments = command;
    arguments.insert(arguments.end(), {"--report", folder.path("page.html")});
    EXPECT_EQ(plan(arguments).status, 0);
    const std::string page = read_text(folder.path("page.html"));
    EXPECT_TRUE(page.starts_with("<!DOCTYPE html>"));
    EXPECT_TRUE(page.ends_with("</html>\n"));
    EXPECT_EQ(command[0] != "list", page.find("<svg") != std::string::npos) << command[0];
    for (const char* outside : {"http:", "https:", "<script", "src=", "@import", "nan", "inf'"})
      EXPECT_EQ(page.find(outside), std::string::npos) << command[0] << " " << outside;
  }
}

TEST(Plan, ReportEscapesNames) {
  const Folder folder;
  const std::string model =
      folder.file("m.json", R"({"base": "llama3-8b", "name": "<script>alert(1)</script>"})");
  EXPECT_EQ(plan({"memory", "--model", model, "--report", folder.path("page.html")}).status, 0);
  EXPECT_EQ(read_text(folder.path("page.html")).find("<script"), std::string::npos);
}

TEST(Plan, QueryAnswersARequest) {
  const Folder folder;
  const std::string request =
      folder.file("request.json", R"({"command": "pipeline", "pp": 4, "microbatches": 8})");
  const Outcome outcome = plan({"query", "--request", request});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(json::parse(outcome.out)["answer"]["makespan_s"], 33);
}

void expect_refused(const Words& arguments, const Words& words) {
  const Outcome outcome = plan(arguments);
  SCOPED_TRACE(::testing::PrintToString(arguments) + " said: " + outcome.err);
  EXPECT_EQ(outcome.status, 2);
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(std::ranges::count(outcome.err, '\n'), 1);
  EXPECT_TRUE(outcome.err.starts_with("plan: "));
  for (const std::string& word : words) EXPECT_NE(outcome.err.find(word), std::string::npos) << word;
}

TEST(Plan, RefusesWhatCannotBe) {
  expect_refused({}, {"subcommand"});
  expect_refused({"fly"}, {"fly"});
  expect_refused({"roofline", "--batch", "-5"}, {"batch", "-5"});
  expect_refused({"roofline", "--batch", "0"}, {"batch", "0"});
  expect_refused({"roofline", "--batch", "nan"}, {"batch", "nan"});
  expect_refused({"roofline", "--batch", "1e400"}, {"batch", "1e400"});
  expect_refused({"roofline", "--batch", "5 furlongs"}, {"batch", "furlongs"});
  expect_refused({"roofline", "--model", "gpt-9"}, {"gpt-9", "llama3-70b"});
  expect_refused({"roofline", "--hardware", "abacus"}, {"abacus", "h100"});
  expect_refused({"memory", "--tp", "3"}, {"tp 3", "64"});
  expect_refused({"search", "--batch", "10"}, {"batch"});
  expect_refused({"pipeline", "--virtual-stages", "2"}, {"virtual_stages", "1f1b"});
}

TEST(Plan, RefusesFilesThatAreNone) {
  const Folder folder;
  const std::string broken = folder.file("broken.json", "{\"command\":"),
                    deep = folder.file("deep.json", std::string(500, '['));
  expect_refused({"query", "--request", folder.path("missing.json")}, {"missing.json", "opened"});
  expect_refused({"query", "--request", broken}, {broken, "JSON"});
  expect_refused({"query", "--request", deep}, {deep});
  expect_refused({"memory", "--hardware", broken}, {broken, "JSON"});
  expect_refused({"check", "--run", folder.file("other.json", "{}")}, {"config", "train --json"});
  expect_refused({"check"}, {"--run"});
  expect_refused({"list", "--json", folder.path("none/x.json")}, {"--json"});
}

/// What `plan check` says of a run of train: the worst rank's relative error of memory in all. Train itself
/// must have said the same of each category.
double memory_error(Words arguments, int ranks) {
  const Folder folder;
  arguments.insert(arguments.end(), {"--steps", "2", "--threads", "1", "--eval-every", "2", "--json",
                                     folder.path("run.json")});
  const Outcome outcome = run("train", arguments, ranks);
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  const json told = read_json(folder.path("run.json"))["ranks"],
             checked = answer({"check", "--run", folder.path("run.json")})["memory"];
  double worst = 0;
  for (std::size_t i = 0; i < told.size(); ++i) {
    for (const auto& [category, bytes] : told[i]["formula_bytes"].items())
      EXPECT_EQ(bytes, checked[i][category]["predicted"]) << category;
    worst = std::max(worst, std::abs(checked[i]["total"]["error"].get<double>()));
  }
  return worst;
}

struct MemoryCase {
  int ranks;
  const char* arguments;
};

// Buckets are small beside these small models, as they are by default beside larger ones.
TEST(PlanCheck, PredictsTheLedger) {
  constexpr double kBound = 0.05;
  constexpr MemoryCase kCases[] = {
      {1, "--model gpt-nano --batch 8"},
      {1, "--model gpt-nano --batch 8 --recompute selective"},
      {1, "--model gpt-nano --batch 8 --recompute full"},
      {1, "--model llama-nano --batch 8 --dropout 0.1"},
      {1, "--model llama-nano --batch 9 --microbatches 2 --optimizer sgd"},
      {2, "--model gpt-nano --batch 16 --bucket-mb 0.2"},
      {4, "--model llama-nano --batch 15 --bucket-mb 0.2 --recompute full"},
      {2, "--model llama-nano --batch 16 --bucket-mb 0.2 --zero 1"},
      {4, "--model gpt-nano --batch 16 --bucket-mb 0.2 --zero 2 --recompute selective"},
      {4, "--model llama-nano --batch 17 --bucket-mb 0.2 --zero 2 --shard 2 --microbatches 2"},
      {2, "--model gpt-nano --batch 16 --zero 3"},
      {8, "--model llama-nano --batch 32 --zero 3 --shard 4"},
      {4, "--model gpt-nano --batch 16 --zero 3 --recompute full --microbatches 3"}};
  for (const auto& [ranks, arguments] : kCases) {
    std::istringstream words(arguments);
    const double error = memory_error({std::istream_iterator<std::string>(words), {}}, ranks);
    EXPECT_LT(error, kBound) << ranks << " ranks " << arguments;
  }
}

}  // namespace
}  // namespace tessera
