#include "nn/batch.h"

#include <gtest/gtest.h>

#include <numeric>

#include "tests/tensor/gradcheck.h"

namespace tessera::nn {
namespace {

using namespace tessera::testing;
using Ints = std::vector<std::int32_t>;

Ints ints_of(const Tensor& x) { return {x.span<std::int32_t>().begin(), x.span<std::int32_t>().end()}; }

/// Sequence i has tokens 10 i, 10 i + 1, ... and their followers as targets.
Batch counting_batch(Index sequences, Index positions) {
  Ints tokens, targets;
  for (std::int32_t i = 0; i < sequences; ++i) {
    for (std::int32_t t = 0; t < positions; ++t)
      tokens.push_back(10 * i + t), targets.push_back(10 * i + t + 1);
  }
  return make_batch(tokens, targets, positions);
}

TEST(Batch, HoldsGlobalNumbers) {
  const Batch batch = make_batch({1, 2, 3, 4, 5, 6}, {2, 3, kIgnore, 5, kIgnore, kIgnore}, 3);
  EXPECT_EQ(batch.tokens.shape(), (Shape{2, 3}));
  EXPECT_EQ(batch.targets.shape(), (Shape{2, 3}));
  EXPECT_EQ(ints_of(batch.sequences), (Ints{0, 1}));
  EXPECT_EQ(ints_of(batch.positions), (Ints{0, 1, 2}));
  EXPECT_EQ(batch.num_positions, 3);
  EXPECT_EQ(batch.num_sequences(), 2);
  EXPECT_EQ(batch.num_targets(), 3);
}

TEST(Batch, MayBeEmpty) {
  const Batch batch = make_batch({}, {}, 3);
  EXPECT_EQ(batch.tokens.shape(), (Shape{0, 3}));
  EXPECT_EQ(batch.positions.numel(), 3);
  EXPECT_EQ(batch.num_targets(), 0);
}

TEST(Batch, RefusesSizesThatDoNotFit) {
  EXPECT_NE(error_of([] {
              make_batch({1, 2, 3}, {1, 2}, 3);
            }).find("3 tokens and 2 targets"),
            std::string::npos);
  EXPECT_NE(error_of([] { make_batch({1, 2, 3}, {1, 2, 3}, 2); }).find("of 2"), std::string::npos);
  EXPECT_NE(error_of([] { make_batch({}, {}, 0); }), "");
}

TEST(Slice, KeepsGlobalNumbersAndSharesMemory) {
  const Batch batch = counting_batch(4, 3), part = slice(batch, 1, 3);
  EXPECT_EQ(ints_of(part.sequences), (Ints{1, 2}));
  EXPECT_EQ(ints_of(part.tokens), (Ints{10, 11, 12, 20, 21, 22}));
  EXPECT_EQ(ints_of(part.targets), (Ints{11, 12, 13, 21, 22, 23}));
  EXPECT_EQ(part.num_positions, 3);
  EXPECT_EQ(part.tokens.storage(), batch.tokens.storage());
  EXPECT_NE(error_of([&] { slice(batch, 3, 5); }), "");
}

TEST(Split, DealsAsEvenlyAsItGoes) {
  for (Index sequences = 0; sequences <= 7; ++sequences) {
    for (Index count = 1; count <= 5; ++count) {
      const std::vector<Batch> parts = split(counting_batch(sequences, 2), count);
      ASSERT_EQ(static_cast<Index>(parts.size()), count);
      Ints seen;
      for (const Batch& part : parts) {
        const Index size = part.num_sequences(), least = sequences / count;
        EXPECT_TRUE(size == least || (size == least + 1 && sequences % count != 0)) << size;
        for (const std::int32_t number : ints_of(part.sequences)) seen.push_back(number);
      }
      Ints all(static_cast<std::size_t>(sequences));
      std::iota(all.begin(), all.end(), 0);
      EXPECT_EQ(seen, all);
    }
  }
}

TEST(Split, RefusesNoMicrobatches) {
  EXPECT_NE(error_of([] { split(counting_batch(2, 2), 0); }).find("0 microbatches"), std::string::npos);
}

}  // namespace
}  // namespace tessera::nn
