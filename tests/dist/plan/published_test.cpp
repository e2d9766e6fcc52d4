// Published figures, each from the answer of the command that prints it. published.json has the requests, the
// places in the answers and the figures; and, for each figure that no command prints, the reason.

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <set>

#include "tests/dist/plan/query_test.h"

namespace tessera::plan {
namespace {

using nlohmann::json;

const json& published() {
  static const json kAll = json::parse(std::ifstream(TESSERA_GOLDEN_DIR "/../dist/plan/published.json"));
  return kAll;
}

double number_in(const json& answer, const std::string& place) {
  const json::json_pointer pointer(place);
  EXPECT_TRUE(answer.contains(pointer)) << place;
  return answer.contains(pointer) && answer[pointer].is_number() ? answer[pointer].get<double>()
                                                                 : std::nan("");
}

/// A figure of an answer; "over" divides it by another, maybe of another answer ("over_ask"); "times" scales
/// it.
double figure(const json& expect, const std::vector<json>& answers) {
  double value = number_in(answers.at(expect["ask"]), expect["at"]) * expect.value("times", 1.0);
  if (expect.contains("over"))
    value /= number_in(answers.at(expect.value("over_ask", expect["ask"].get<int>())), expect["over"]);
  return value;
}

class Published : public ::testing::TestWithParam<std::size_t> {};

TEST_P(Published, IsWhatTheCommandPrints) {
  const json& c = published()["cases"][GetParam()];
  std::vector<json> answers;
  for (const json& ask : c["asks"]) answers.push_back(answer_to(ask));
  for (const json& expect : c["expects"]) {
    const json& is = expect["is"];
    const json::json_pointer at(expect["at"].get<std::string>());
    SCOPED_TRACE(c["id"].get<std::string>() + " " + expect.dump() + " of " + c["source"].get<std::string>());
    if (!is.is_number()) {
      EXPECT_EQ(answers.at(expect["ask"])[at], is);
      continue;
    }
    const double tolerance = expect.value("tolerance", c["tolerance"].get<double>());
    EXPECT_NEAR(figure(expect, answers), is.get<double>(),
                tolerance * std::abs(is.get<double>()) + 1e-9 * (is == 0));
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, Published, ::testing::Range<std::size_t>(0, published()["cases"].size()),
                         [](const auto& instance) {
                           std::string name = published()["cases"][instance.param]["id"];
                           for (char& c : name)
                             if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
                           return name;
                         });

TEST(PublishedCases, EachOfThe207IsTestedOrHasAReason) {
  constexpr std::size_t kAll = 207;
  std::set<std::string> ids;
  for (const json& c : published()["cases"]) ids.insert(c["id"]);
  for (const auto& [id, reason] : published()["not_printed"].items()) {
    EXPECT_FALSE(reason.get<std::string>().empty()) << id;
    ids.insert(id);
  }
  EXPECT_EQ(ids.size(), kAll);
}

// Issue of the guide: its verdicts for LLaMA-3 70B at 2M tokens, dp 512, tp 8.
TEST(GuideVerdicts, Llama70bOnTpuV5p) {
  const json base = {{"command", "roofline"}, {"hardware", "tpu-v5p"}, {"batch", "2M"}, {"dp_axes", 2}};
  const auto bound = [&](const char* strategy, json degrees) {
    degrees.update(base);
    degrees["strategy"] = strategy;
    return answer_to(degrees)["strategies"][0];
  };
  // C = 459e12, W = 180e9, M = 2 for weights and 1 for activations: the guide's formulas by hand.
  const double df = 8192.0 * 28672, c = 459e12, w = 180e9;
  const json dp = bound("dp", {{"dp", 512}}), fsdp = bound("fsdp", {{"dp", 512}}),
             tp = bound("tp", {{"tp", 8}});
  const json mixed = bound("mixed", {{"dp", 512}, {"tp", 8}});
  EXPECT_DOUBLE_EQ(dp["compute_s"], 8 * 2e6 * df / (512 * c));
  EXPECT_DOUBLE_EQ(dp["communication_s"], 8 * df / (2 * w));
  EXPECT_DOUBLE_EQ(fsdp["communication_s"], 4 * df / (2 * w));
  EXPECT_DOUBLE_EQ(tp["communication_s"], 4 * 2e6 * 8192 / w);
  EXPECT_DOUBLE_EQ(mixed["fsdp_s"], 4 * df / (8 * 2 * w));
  EXPECT_DOUBLE_EQ(mixed["tp_s"], 4 * 2e6 * 8192 / (512 * w));
  for (const json& each : {dp, fsdp, tp, mixed}) EXPECT_EQ(each["bound"], "compute") << each;
}

}  // namespace
}  // namespace tessera::plan
