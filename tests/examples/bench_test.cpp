#include <gtest/gtest.h>

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

}  // namespace
}  // namespace tessera
