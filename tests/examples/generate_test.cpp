#include <gtest/gtest.h>

#include <algorithm>

#include "tests/examples/child.h"

namespace tessera {
namespace {

using Words = std::vector<std::string>;

/// A trained model and what it says.
class Generate : public ::testing::Test {
 protected:
  void train(const Words& more) const {
    Words arguments = {"--model", "gpt-pico", "--steps", "1",
                       "--batch", "1",        "--save",  folder_.path("model")};
    arguments.insert(arguments.end(), more.begin(), more.end());
    ASSERT_EQ(run("train", arguments).status, 0);
  }
  std::string text(const Words& more) const {
    Words arguments = {"--checkpoint", folder_.path("model"), "--prompt", "Ab", "--tokens", "100"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Outcome outcome = run("generate", arguments);
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    return outcome.out;
  }
  Folder folder_;
};

TEST_F(Generate, PromptThenOneByteForEachToken) {
  train({});
  const std::string first = text({});
  EXPECT_EQ(first.size(), 2u + 100 + 1);
  EXPECT_TRUE(first.starts_with("Ab") && first.ends_with("\n"));
  EXPECT_EQ(text({"--threads", "1"}), text({"--threads", "1"}));
}

TEST_F(Generate, EachFlagChangesTheText) {
  train({});
  const std::string base = text({});
  EXPECT_NE(text({"--seed", "2"}), base);
  EXPECT_NE(text({"--temperature", "2"}), base);
  const std::string likeliest = text({"--temperature", "0"});
  EXPECT_NE(likeliest, base);
  EXPECT_EQ(text({"--top-k", "1"}), likeliest);
}

TEST_F(Generate, OtherVocabulariesGiveNumbers) {
  train({"--vocab", "300"});
  const std::string numbers = text({});
  EXPECT_EQ(std::ranges::count(numbers, ' '), 100);
  EXPECT_EQ(numbers.find_first_not_of("0123456789 \n", 2), std::string::npos);
}

TEST_F(Generate, RefusesACutFile) {
  train({});
  const std::string file = "model/step-1/model-0.safetensors", whole = read_text(folder_.path(file));
  folder_.file(file, whole.substr(0, whole.size() - 1));
  const Outcome outcome = run("generate", {"--checkpoint", folder_.path("model")});
  EXPECT_EQ(outcome.status, 2);
  EXPECT_EQ(std::ranges::count(outcome.err, '\n'), 1) << outcome.err;
}

}  // namespace
}  // namespace tessera
