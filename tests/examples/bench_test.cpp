#include <gtest/gtest.h>

#include <map>

#include "tests/examples/child.h"

namespace tessera {
namespace {

TEST(Bench, StepJsonHasTheFields) {
  const Folder folder;
  const Outcome outcome = run("bench", {"step", "--model", "gpt-pico", "--batch", "2", "--steps", "3",
                                        "--threads", "1", "--json", folder.path("step.json")});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const auto json = read_json(folder.path("step.json"));
  const auto number = [&](const char* field) { return json.at(field).get<double>(); };
  EXPECT_NEAR(number("share_of_peak") * number("gemm_peak_flops"), number("achieved_flops"), 1);
  EXPECT_GT(number("tokens_per_s") * number("step_s"), 2);
  EXPECT_GT(number("peak_rss_bytes"), number("rss_before_model_bytes"));
  EXPECT_GT(json.at("peak_bytes").at("activation"), 0);
  EXPECT_EQ(json.at("peak_bytes").at("optimizer"), 2 * json.at("peak_bytes").at("parameter").get<Index>());
  for (const char* field : {"max_minor_faults", "rss_growth_bytes", "compute_s", "optimizer_s"}) {
    EXPECT_GE(number(field), 0) << field;
  }
}

TEST(Bench, GemmTellsTheLayersOfTheModel) {
  const Folder folder;
  const Outcome outcome = run("bench", {"gemm", "--model", "gpt-pico", "--batch", "2", "--threads", "1",
                                        "--dtype", "f64", "--json", folder.path("gemm.json")});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const auto json = read_json(folder.path("gemm.json"));
  bool head = false;
  for (const auto& row : json.at("results")) {
    for (const char* field : {"forward_flops", "input_gradient_flops", "weight_gradient_flops"}) {
      EXPECT_GT(row.at(field), 0);
    }
    head = head || (row.at("layer") == "head" && row.at("outputs") == 256);
  }
  EXPECT_TRUE(head);
}

TEST(Bench, CollectivesTimesEveryAlgorithmAndBothYardsticks) {
  const Folder folder;
  const Outcome outcome =
      run("bench",
          {"collectives", "--op", "all_reduce,all_to_all", "--bytes", "8,100000", "--calls", "2", "--rounds",
           "2", "--ranks-per-node", "2", "--json", folder.path("net.json")},
          3);
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const auto json = read_json(folder.path("net.json"));
  std::map<std::string, int> lines;
  for (const auto& line : json.at("results")) {
    ++lines[line.at("op").get<std::string>() + " " + line.at("algorithm").get<std::string>()];
    EXPECT_EQ(line.at("ranks"), 3);
    EXPECT_GT(line.at("best_s"), 0);
    EXPECT_LE(line.at("best_s"), line.at("median_s"));
    EXPECT_NEAR(line.at("algbw").get<double>() * line.at("median_s").get<double>(), line.at("bytes"), 1e-6);
    const double factor = line.at("op") == "all_reduce" ? 4.0 / 3 : 2.0 / 3;
    EXPECT_NEAR(line.at("busbw").get<double>() / line.at("algbw").get<double>(), factor, 1e-9);
  }
  for (const char* name :
       {"all_reduce automatic", "all_reduce ring", "all_reduce recursive_doubling",
        "all_reduce halving_doubling", "all_reduce binomial", "all_reduce hierarchical", "all_reduce mpi",
        "all_reduce mpi-nonblocking", "all_to_all pairwise", "all_to_all bruck"})
    EXPECT_EQ(lines[name], 2) << name;
  for (const char* field : {"send_recv_bandwidth", "alpha_s", "beta_s_per_byte"})
    EXPECT_GT(json.at(field), 0);

  // What it measured is what train goes by.
  const std::vector<std::string> small = {"--model", "gpt-pico", "--steps", "2", "--batch", "2", "--network"};
  auto arguments = small;
  arguments.push_back(folder.path("net.json"));
  EXPECT_EQ(run("train", arguments, 2).status, 0);
  arguments.back() = folder.file("bad.json", R"({"network": {"node": {"alpha_s": -1}, "across": {}}})");
  const Outcome refused = run("train", arguments, 2);
  EXPECT_EQ(refused.status, 2);
  EXPECT_NE(refused.err.find("alpha_s"), std::string::npos) << refused.err;
}

TEST(Bench, OverlapTellsEachPartOfAStep) {
  const Folder folder;
  for (const char* level : {"0", "1", "2", "3"}) {
    const Outcome outcome =
        run("bench",
            {"overlap", "--model", "gpt-pico", "--batch", "6", "--steps", "2", "--threads", "1", "--zero",
             level, "--bucket-mb", "0.02", "--json", folder.path("overlap.json")},
            3);
    ASSERT_EQ(outcome.status, 0) << outcome.err;
    const auto json = read_json(folder.path("overlap.json"));
    const auto number = [&](const char* field) { return json.at(field).get<double>(); };
    EXPECT_EQ(number("ranks"), 3);
    for (const char* field : {"forward_s", "optimizer_s", "communication_s", "step_s"})
      EXPECT_GT(number(field), 0) << field;
    EXPECT_GT(number("compute_s"), number("forward_s"));
    EXPECT_GT(number("step_without_overlap_s"), number("compute_s") / 2);  // other work may slow either
    EXPECT_NEAR(number("ratio") * number("longer_side_s") + number("beside_s"), number("step_s"), 1e-9);
  }
}

TEST(Bench, RefusesWhatItCannotMeasure) {
  EXPECT_EQ(run("bench", {"overlap"}).status, 2);
  EXPECT_EQ(run("bench", {"overlap", "--batch", "5"}, 2).status, 2);
  EXPECT_EQ(run("bench", {"collectives"}).status, 2);
  EXPECT_EQ(run("bench", {"collectives", "--op", "point_to_point"}, 2).status, 2);
  EXPECT_EQ(run("bench", {"collectives", "--bytes", "3"}, 2).status, 2);
  EXPECT_EQ(run("bench", {"gemm"}, 2).status, 2);
}

}  // namespace
}  // namespace tessera
