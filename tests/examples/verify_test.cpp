// verify proves every layout for its number of ranks, and says what it found.

#include <gtest/gtest.h>

#include <algorithm>

#include "examples/layout.h"
#include "tests/examples/child.h"
#include "tests/tensor/gradcheck.h"

namespace tessera {
namespace {

using nlohmann::json;

TEST(Verify, ProvesEveryLayout) {
  for (const int ranks : {0, 2}) {
    const Folder folder;
    const Outcome outcome = run("verify", {"--threads", "1", "--json", folder.path("found.json")}, ranks);
    EXPECT_EQ(outcome.status, 0) << outcome.out << outcome.err;
    const json found = read_json(folder.path("found.json"));
    EXPECT_EQ(found["reference"]["model"]["vocab"], 37);
    EXPECT_EQ(found["layouts"].size(), 2 * all_layouts(std::max(1, ranks)).size());
    for (const json& layout : found["layouts"]) {
      for (const char* error : {"loss_error", "worst_gradient_error", "norm_error", "update_error"})
        EXPECT_LE(layout[error], layout["bound"]) << layout;
      EXPECT_EQ(layout["bound"].get<double>() == 1e-11, layout["dtype"] == "f64");
      for (const char* fact : {"initial_weights_equal", "replicas_equal", "pass"})
        EXPECT_EQ(layout[fact], true) << layout;
      EXPECT_TRUE(layout["worst_parameter"].get<std::string>().ends_with("weight") ||
                  layout["worst_parameter"].get<std::string>().ends_with("bias"));
    }
  }
}

TEST(Verify, TakesAModelAndALayout) {
  const Outcome outcome = run("verify",
                              {"--model", "llama-tiny", "--layers", "1", "--layout", "zero=3 microbatches=3",
                               "--bucket-mb", "1", "--batch", "2"},
                              3);
  EXPECT_EQ(outcome.status, 0) << outcome.out << outcome.err;
  EXPECT_NE(outcome.out.find("dp=3 zero=3 microbatches=3"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("2 of 2 pass"), std::string::npos) << outcome.out;
}

TEST(Layouts, GoBothWays) {
  for (const int ranks : {1, 2, 3, 4, 8}) {
    for (const Layout& layout : all_layouts(ranks))
      EXPECT_EQ(to_string(parse_layout(to_string(layout))), to_string(layout));
  }
  EXPECT_EQ(all_layouts(1).size(), 3U);
  EXPECT_EQ(all_layouts(4).size(), 3U * (1 + 3 * 2));
}

TEST(Layouts, RefuseWhatIsNone) {
  for (const auto& [text, word] :
       std::vector<std::pair<std::string, std::string>>{{"zero=4", "zero=4"},
                                                        {"zero", "zero"},
                                                        {"dp=2 dp=2", "twice"},
                                                        {"dp=0", "from 1"},
                                                        {"pipes=2", "pipes=2"},
                                                        {"microbatches=1x", "1x"},
                                                        {"recompute=half", "none|selective|full"}})
    EXPECT_NE(testing::error_of([&] { parse_layout(text); }).find(word), std::string::npos) << text;
}

}  // namespace
}  // namespace tessera
