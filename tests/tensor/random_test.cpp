#include "tensor/random.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <vector>

namespace tessera {
namespace {

using Words = std::array<std::uint32_t, 4>;

// Source: kat_vectors of Random123, the library of Salmon et al. 2011.
TEST(Philox, MatchesPublishedVectors) {
  constexpr std::uint32_t kOnes = 0xffffffff;
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}), (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox({kOnes, kOnes, kOnes, kOnes}, {kOnes, kOnes}),
            (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  // Digits of pi.
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

// Number i depends on i alone, so a shard that starts at an odd offset, or goes backwards, draws its slice.
TEST(RandomStream, NumbersDependOnTheirIndexAlone) {
  const Index count = 101;
  std::vector<double> normals, uniforms;
  for (Index i = 0; i < count; ++i) {
    const RandomStream stream(1, "w", 2);
    normals.push_back(stream.normal(i));
    uniforms.push_back(stream.uniform(i));
    EXPECT_EQ(stream.bits(i), stream.block(i / 4)[i % 4]);
    EXPECT_EQ(stream.normal(i), stream.normal_pair(i / 2)[i % 2]);
  }
  const RandomStream stream(1, "w", 2);
  for (Index i = count - 1; i >= 37; --i) {
    EXPECT_EQ(stream.normal(i), normals[i]);
    EXPECT_EQ(stream.uniform(i), uniforms[i]);
  }
}

TEST(RandomStream, IndicesBeyond32BitsAreNewNumbers) {
  const RandomStream stream(1, "w");
  std::set<double> seen;
  for (const Index high : {Index{0}, Index{1} << 32, Index{1} << 33, Index{1} << 34, Index{1} << 40})
    for (Index i = 0; i < 8; ++i)
      EXPECT_TRUE(seen.insert(stream.uniform(high + i)).second) << high << " + " << i;
}

TEST(RandomStream, SeedNameAndStepEachMakeAnother) {
  constexpr std::uint64_t kLateStep = std::uint64_t{1} << 32;
  const RandomStream streams[] = {{1, "0.q"}, {2, "0.q"},    {1, "1.q"},
                                  {1, "0.k"}, {1, "0.q", 1}, {1, "0.q", kLateStep}};
  std::set<Words> seen;
  for (const RandomStream& stream : streams)
    for (Index quad = 0; quad < 8; ++quad) EXPECT_TRUE(seen.insert(stream.block(quad)).second);
}

// Moments within five standard errors, each over 10^5 numbers.
constexpr Index kCount = 100000;

double mean(const auto& value) {
  double sum = 0;
  for (Index i = 0; i < kCount; ++i) sum += value(i);
  return sum / static_cast<double>(kCount);
}
double five_errors(double variance) { return 5 * std::sqrt(variance / static_cast<double>(kCount)); }

TEST(RandomStream, UniformHasItsMoments) {
  const RandomStream stream(3, "uniform");
  const auto centred = [&](Index i) { return stream.uniform(i) - 0.5; };
  EXPECT_NEAR(mean(centred), 0, five_errors(1.0 / 12));
  EXPECT_NEAR(mean([&](Index i) { return centred(i) * centred(i); }), 1.0 / 12, five_errors(1.0 / 180));
  EXPECT_NEAR(mean([&](Index i) { return centred(i) * centred(i + 1); }), 0, five_errors(1.0 / 144));
  for (Index i = 0; i < kCount; ++i) ASSERT_TRUE(stream.uniform(i) >= 0 && stream.uniform(i) < 1);
}

TEST(RandomStream, NormalHasItsMoments) {
  const RandomStream stream(3, "normal");
  const auto moment = [&](int power) {
    return mean([&](Index i) { return std::pow(stream.normal(i), power); });
  };
  EXPECT_NEAR(moment(1), 0, five_errors(1));
  EXPECT_NEAR(moment(2), 1, five_errors(2));
  EXPECT_NEAR(moment(3), 0, five_errors(15));
  EXPECT_NEAR(moment(4), 3, five_errors(96));
  EXPECT_NEAR(mean([&](Index i) { return stream.normal(i) * stream.normal(i + 1); }), 0, five_errors(1));
}

TEST(RandomStream, BelowStaysBelowAndIsUniform) {
  const RandomStream stream(3, "below");
  for (const Index n : {Index{1}, Index{2}, Index{37}, Index{1} << 40, std::numeric_limits<Index>::max()})
    for (Index i = 0; i < 1000; ++i)
      ASSERT_TRUE(stream.below(i, n) >= 0 && stream.below(i, n) < n) << "of " << n;
  for (Index value = 0; value < 7; ++value)
    EXPECT_NEAR(mean([&](Index i) { return stream.below(i, 7) == value; }), 1.0 / 7, five_errors(6.0 / 49));
}

}  // namespace
}  // namespace tessera
