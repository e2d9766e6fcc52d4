// Masks are numbered by the whole tensor's elements, so every shard draws its part of the one mask.

#include <gtest/gtest.h>

#include "tests/tensor/op_table.h"

namespace tessera {
namespace {

using namespace testing;

Tensor ones(const Shape& shape, DType dtype = DType::f64) {
  Tensor result(shape, dtype);
  result.fill(1);
  return result;
}

std::vector<std::int32_t> first(std::int32_t count) {
  std::vector<std::int32_t> result(static_cast<std::size_t>(count));
  std::iota(result.begin(), result.end(), 0);
  return result;
}

TEST(Dropout, KeepsTheMeanAndDropsItsShare) {
  const double p = 0.3;
  const Tensor y = dropout(ones({10, 20, 100}), p, mask_of(first(10), first(20), 20));
  const auto count = static_cast<double>(y.numel());
  const auto dropped = static_cast<double>(std::ranges::count(y.span<double>(), 0.0));
  EXPECT_NEAR(dropped / count, p, 5 * std::sqrt(p * (1 - p) / count));  // five standard deviations
  for (const double value : y.span<double>()) ASSERT_TRUE(value == 0 || value == 1 / (1 - p)) << value;
}

// Rows, columns and neighbours are independent: equal to their neighbour as often as chance has it.
TEST(Dropout, NeighboursAreIndependent) {
  const Tensor y = dropout(ones({10, 20, 100}), 0.5, mask_of(first(10), first(20), 20));
  const auto* keep = y.data<double>();
  for (const Index stride : {1, 2, 4, 100, 2000}) {
    Index equal = 0;
    const Index pairs = y.numel() - stride;
    for (Index i = 0; i < pairs; ++i) equal += keep[i] == keep[i + stride];
    const auto n = static_cast<double>(pairs);
    EXPECT_NEAR(static_cast<double>(equal) / n, 0.5, 5 * 0.5 / std::sqrt(n)) << "stride " << stride;
  }
}

struct Shard {
  std::vector<std::int32_t> sequences, positions;
  Index first_col, cols;
};

TEST(Dropout, ShardsDrawTheirSliceOfTheMask) {
  constexpr Index kSequences = 4, kPositions = 7, kCols = 37;
  const Shard shards[] = {
      {first(4), first(7), 0, 18},   // columns, uneven
      {first(4), first(7), 18, 19},  //
      {{1, 3}, first(7), 0, kCols},  // sequences
      {{2}, {0, 1, 5, 6}, 3, 5},     // a zigzag of positions, from an odd column
      {{3, 0}, {6, 2, 3}, 35, 2},    // any order
      {{}, first(7), 1, 3},          // nothing
  };
  for (const DType dtype : {DType::f32, DType::f64}) {
    const Tensor whole = dropout(ones({kSequences, kPositions, kCols}, dtype), 0.4,
                                 mask_of(first(kSequences), first(kPositions), kPositions));
    for (const auto& [sequences, positions, first_col, cols] : shards) {
      const Shape shape = {std::ssize(sequences), std::ssize(positions), cols};
      const DropoutMask mask = mask_of(sequences, positions, kPositions, first_col, kCols);
      const Tensor part = dropout(ones(shape, dtype), 0.4, mask);
      Tensor expected(shape, dtype);
      dispatch(dtype, [&]<class T>() {
        T* next = expected.data<T>();
        for (const auto b : sequences)
          for (const auto t : positions)
            next = std::copy_n(whole.data<T>() + (b * kPositions + t) * kCols + first_col, cols, next);
      });
      EXPECT_TRUE(bit_equal(part, expected)) << shape << " from column " << first_col;
    }
  }
}

TEST(Dropout, BackwardDrawsTheSameMask) {
  const Tensor x = ones({2, 3, 37}).require_grad();
  const Tensor y = dropout(x, 0.4, mask_of({0, 5}, {1, 6, 2}, 7, 3, 90));
  backward(y, ones(y.shape()));
  EXPECT_TRUE(bit_equal(x.grad(), y.detach()));
}

TEST(Dropout, OfNothingIsIdentity) {
  const Tensor x = normal({2, 3, 5}, "x").require_grad();
  const Tensor y = dropout(x, 0, mask_of({0, 1}, {0, 1, 2}, 3)), dy = normal(y.shape(), "dy");
  EXPECT_TRUE(bit_equal(y.detach(), x.detach()));
  backward(y, dy);
  EXPECT_TRUE(bit_equal(x.grad(), dy));
}

TEST(Dropout, OtherStreamsDropOthers) {
  DropoutMask mask = mask_of({0}, first(20), 20);
  const Tensor y = dropout(ones({1, 20, 20}), 0.5, mask);
  const RandomStream others[] = {{12, "mask", 3}, {11, "other", 3}, {11, "mask", 4}};
  for (const RandomStream& other : others) {
    mask.stream = other;
    EXPECT_FALSE(bit_equal(dropout(ones({1, 20, 20}), 0.5, mask), y));
  }
}

}  // namespace
}  // namespace tessera
