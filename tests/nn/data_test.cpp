#include "nn/data.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <set>

#include "tests/nn/temporary.h"
#include "tests/tensor/gradcheck.h"

namespace tessera::nn {
namespace {

using namespace tessera::testing;
using Ints = std::vector<std::int32_t>;

Ints ints_of(const Tensor& x) { return {x.span<std::int32_t>().begin(), x.span<std::int32_t>().end()}; }

/// Bytes 0, 1, ..., so that a token is its place in the text.
std::string counting_text(int size) {
  std::string text;
  for (int i = 0; i < size; ++i) text += static_cast<char>(i);
  return text;
}
std::string u16_text(const std::vector<std::uint16_t>& tokens) {
  return {reinterpret_cast<const char*>(tokens.data()), 2 * tokens.size()};
}
std::string error_of_file(const std::string& path, Index context = 3, Index vocab = 256) {
  return error_of([&] { Dataset::from_file(path, context, vocab); });
}

// 200 tokens: 0 to 159 to train on, 160 to 199 held out.
Dataset counting_data(Index context) {
  return Dataset::from_bytes(counting_text(200), "counting", context, 0.2);
}

TEST(Dataset, HoldsOutTheTail) {
  const Dataset data = counting_data(8);
  EXPECT_EQ(data.num_train_tokens(), 160);
  EXPECT_EQ(data.num_validation_tokens(), 40);
  for (Index step = 0; step < 50; ++step) {
    for (const std::int32_t target : ints_of(data.batch(1, step, 4).targets)) EXPECT_LT(target, 160);
  }
  EXPECT_EQ(ints_of(data.validation(0, 1).tokens)[0], 160);
}

TEST(Dataset, TargetsFollowTheirTokens) {
  const Batch batch = counting_data(8).batch(1, 0, 5);
  EXPECT_EQ(batch.tokens.shape(), (Shape{5, 8}));
  EXPECT_EQ(ints_of(batch.sequences), (Ints{0, 1, 2, 3, 4}));
  EXPECT_EQ(batch.num_targets(), 40);
  const Ints tokens = ints_of(batch.tokens), targets = ints_of(batch.targets);
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    EXPECT_EQ(targets[i], tokens[i] + 1);
    EXPECT_TRUE(i % 8 == 0 || tokens[i] == tokens[i - 1] + 1);
  }
}

TEST(Dataset, WindowsStartWhereTheStreamSays) {
  const Dataset data = counting_data(8);
  for (const Index step : {0, 7}) {
    const RandomStream stream(3, "data", static_cast<std::uint64_t>(step));
    const Ints tokens = ints_of(data.batch(3, step, 5).tokens);
    for (Index i = 0; i < 5; ++i)
      EXPECT_EQ(tokens[static_cast<std::size_t>(8 * i)], stream.below(i, 160 - 8));
  }
}

// Bytes 0 to 19, context 19: there is one window, and it reaches both ends.
TEST(Dataset, EveryWindowCanCome) {
  const Dataset one = Dataset::from_bytes(counting_text(40), "counting", 19, 0.5);
  EXPECT_EQ(ints_of(one.batch(1, 0, 1).tokens).front(), 0);
  EXPECT_EQ(ints_of(one.batch(1, 0, 1).targets).back(), 19);
  const Dataset three = Dataset::from_bytes(counting_text(40), "counting", 17, 0.5);
  std::set<std::int32_t> starts;
  for (Index step = 0; step < 100; ++step) starts.insert(ints_of(three.batch(1, step, 1).tokens).front());
  EXPECT_EQ(starts, (std::set<std::int32_t>{0, 1, 2}));
}

TEST(Dataset, BatchIsTheSameHoweverItIsCut) {
  const Dataset data = counting_data(8);
  const Batch whole = data.batch(1, 4, 7);
  for (Index first = 0; first <= 7; ++first) {
    for (Index count = 0; first + count <= 7; ++count) {
      const Batch part = data.batch(1, 4, 7, first, count), expected = slice(whole, first, first + count);
      EXPECT_EQ(part.tokens.shape(), (Shape{count, 8}));
      EXPECT_EQ(ints_of(part.tokens), ints_of(expected.tokens));
      EXPECT_EQ(ints_of(part.targets), ints_of(expected.targets));
      EXPECT_EQ(ints_of(part.sequences), ints_of(expected.sequences));
    }
  }
}

TEST(Dataset, StepsAndSeedsDrawOtherBatches) {
  const Dataset data = counting_data(8);
  std::set<Ints> seen;
  for (Index step = 0; step < 20; ++step)
    EXPECT_TRUE(seen.insert(ints_of(data.batch(1, step, 4).tokens)).second);
  EXPECT_TRUE(seen.insert(ints_of(data.batch(2, 0, 4).tokens)).second);
}

// A run resumed at step k asks for the batches from k on; nothing else is state.
TEST(Dataset, ResumedRunDrawsTheSameBatches) {
  const Dataset before = counting_data(8), after = counting_data(8);
  for (Index step = 0; step < 5; ++step) before.batch(1, step, 4);
  for (Index step = 5; step < 10; ++step) {
    EXPECT_EQ(ints_of(before.batch(1, step, 4).tokens), ints_of(after.batch(1, step, 4).tokens));
  }
}

TEST(Dataset, ValidationCoversEachTargetOnce) {
  for (const Index context : {1, 3, 8, 13, 38, 39}) {
    const Dataset data = counting_data(context);
    const Index count = data.num_validation_sequences();
    EXPECT_EQ(count, (39 + context - 1) / context);
    Ints covered;
    for (Index i = 0; i < count; ++i) {
      const Batch batch = data.validation(i, 1);
      EXPECT_EQ(ints_of(batch.sequences), (Ints{static_cast<std::int32_t>(i)}));
      const Ints tokens = ints_of(batch.tokens), targets = ints_of(batch.targets);
      for (std::size_t t = 0; t < targets.size(); ++t) {
        if (targets[t] == kIgnore) continue;
        EXPECT_EQ(targets[t], tokens[t] + 1);
        covered.push_back(targets[t]);
      }
    }
    Ints expected;
    for (std::int32_t token = 161; token < 200; ++token) expected.push_back(token);
    EXPECT_EQ(covered, expected) << "context " << context;
  }
}

TEST(Dataset, ValidationIsTheSameHoweverItIsCut) {
  const Dataset data = counting_data(8);
  const Batch whole = data.validation(0, 5), part = data.validation(2, 3);
  EXPECT_EQ(ints_of(part.tokens), ints_of(slice(whole, 2, 5).tokens));
  EXPECT_EQ(ints_of(part.targets), ints_of(slice(whole, 2, 5).targets));
  EXPECT_EQ(ints_of(part.sequences), (Ints{2, 3, 4}));
  EXPECT_EQ(data.validation(5, 0).num_sequences(), 0);
}

TEST(Dataset, RefusesSequencesOutOfRange) {
  const Dataset data = counting_data(8);
  EXPECT_NE(error_of([&] { data.batch(1, 0, 4, 2, 3); }).find("3 sequences from 2 on of a batch of 4"),
            std::string::npos);
  EXPECT_NE(error_of([&] { data.batch(1, 0, 4, -1, 2); }), "");
  EXPECT_NE(error_of([&] { data.batch(1, 0, 4, 0, -1); }), "");
  EXPECT_NE(error_of([&] { data.batch(1, -1, 4); }).find("step -1"), std::string::npos);
  EXPECT_NE(error_of([&] { data.validation(3, 3); }).find("3 validation sequences from 3 on of 5"),
            std::string::npos);
  EXPECT_NE(error_of([&] { data.validation(-1, 1); }), "");
}

TEST(Dataset, RefusesTooShortTexts) {
  const std::string text = error_of([] { Dataset::from_bytes(counting_text(100), "a text", 12); });
  for (const char* part :
       {"[data] a text: ", "100 tokens", "90 for training", "10 for validation", "at least 13"}) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  }
  EXPECT_NE(error_of([] { Dataset::from_bytes(counting_text(100), "a text", 60); }), "");
  EXPECT_NE(error_of([] { Dataset::from_bytes(counting_text(100), "a text", 0); }).find("context is 0"),
            std::string::npos);
  EXPECT_NE(error_of([] { Dataset::from_bytes(counting_text(100), "a text", 3, 1.0); }).find("held_out is 1"),
            std::string::npos);
  EXPECT_NE(error_of([] { Dataset::from_bytes(counting_text(100), "a text", 3, -0.1); }), "");
}

TEST(DatasetFile, BytesAreTokens) {
  const TemporaryDirectory folder;
  const std::string path = folder.file("a.txt", counting_text(200));
  EXPECT_EQ(ints_of(Dataset::from_file(path, 8, 256, 0.2).batch(1, 2, 3).tokens),
            ints_of(counting_data(8).batch(1, 2, 3).tokens));
  EXPECT_EQ(ints_of(Dataset::from_file(path, 8, 256, 0.2).validation(4, 1).tokens).at(6), 198);
}

TEST(DatasetFile, SixteenBitTokens) {
  const TemporaryDirectory folder;
  std::vector<std::uint16_t> tokens;
  for (std::uint16_t i = 0; i < 100; ++i) tokens.push_back(static_cast<std::uint16_t>(40000 + i));
  const Dataset data = Dataset::from_file(folder.file("a.u16", u16_text(tokens)), 8, 40100);
  EXPECT_EQ(data.num_train_tokens(), 90);
  EXPECT_EQ(ints_of(data.validation(0, 1).tokens)[0], 40090);
}

TEST(DatasetFile, RefusesTokensBeyondTheVocabulary) {
  const TemporaryDirectory folder;
  std::vector<std::uint16_t> tokens(100, 7);
  tokens[70] = 300;
  const std::string text = error_of_file(folder.file("a.u16", u16_text(tokens)), 8, 300);
  for (const char* part : {"a.u16", "token 300", "offset 140", "vocabulary, 300"}) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  }
  EXPECT_NE(error_of_file(folder.file("a.txt", counting_text(100)), 3, 255).find("the vocabulary is 255"),
            std::string::npos);
}

TEST(DatasetFile, RefusesWhatIsNoData) {
  const TemporaryDirectory folder;
  ::mkfifo((folder / "pipe").c_str(), 0600);
  EXPECT_NE(error_of_file(folder / "none").find("none: cannot open: No such file"), std::string::npos);
  EXPECT_NE(error_of_file(folder.path()).find("is no regular file"), std::string::npos);
  EXPECT_NE(error_of_file(folder / "pipe").find("is no regular file"), std::string::npos);
  EXPECT_NE(error_of_file(folder.file("empty", "")).find("empty: is empty"), std::string::npos);
  EXPECT_NE(error_of_file(folder.file("odd.u16", "abc")).find("3 bytes, expected an even number"),
            std::string::npos);
  EXPECT_NE(error_of_file(folder.file("short", "abc")).find("3 tokens"), std::string::npos);
}

}  // namespace
}  // namespace tessera::nn
