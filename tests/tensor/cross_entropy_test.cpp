// The loss: ignored rows, no rows, logits far beyond the range of exp.

#include <gtest/gtest.h>

#include "tensor/ops.h"
#include "tests/tensor/gradcheck.h"

namespace tessera {
namespace {

using namespace testing;

constexpr Index kVocab = 37;

/// The sum and, in place of the logits, its gradient: softmax - onehot. In f64, row by row.
double naive_cross_entropy(const Tensor& logits, const std::vector<std::int32_t>& targets) {
  double sum = 0;
  for (std::size_t n = 0; n < targets.size(); ++n) {
    const auto row = logits.span<double>().subspan(n * kVocab, kVocab);
    if (targets[n] < 0) {
      std::ranges::fill(row, 0);
      continue;
    }
    const double largest = *std::ranges::max_element(row), target = row[targets[n]];
    double total = 0;
    for (double& value : row) total += value = std::exp(value - largest);
    sum += largest + std::log(total) - target;
    for (double& value : row) value /= total;
    row[targets[n]] -= 1;
  }
  return sum;
}

class CrossEntropy : public ::testing::TestWithParam<DType> {};
INSTANTIATE_TEST_SUITE_P(DTypes, CrossEntropy, ::testing::Values(DType::f32, DType::f64),
                         [](const auto& dtype) { return std::string(to_string(dtype.param)); });

TEST_P(CrossEntropy, MatchesNaiveAtAnyScale) {
  const double epsilon = GetParam() == DType::f32 ? 0x1p-24 : 0x1p-53;
  const std::vector<std::int32_t> targets = {0, 36, -1, 5, 5};
  for (const double scale : {1.0, 1000.0, 1e-3}) {
    const Tensor logits = normal({5, kVocab}, "logits", scale, GetParam()).require_grad();
    const Tensor expected_gradient = to(DType::f64, logits);
    const double expected = naive_cross_entropy(expected_gradient, targets);

    const Tensor loss = cross_entropy(logits, ints(targets));
    EXPECT_EQ(loss.dtype(), DType::f64);
    EXPECT_NEAR(loss.item(), expected, 16 * epsilon * (expected + scale));
    backward(loss);
    // A logit of size s is rounded to s * epsilon, and so is the logarithm of its probability.
    EXPECT_LE(relative_error(logits.grad(), expected_gradient), 16 * epsilon * (1 + scale));
  }
}

TEST_P(CrossEntropy, IgnoredRowsAddNothing) {
  const Tensor logits = normal({4, kVocab}, "logits", 1, GetParam()).require_grad();
  const Tensor kept = logits.slice(1, 3).clone().require_grad();
  const Tensor loss = cross_entropy(logits, ints({-1, 4, 30, -100}));
  const Tensor kept_loss = cross_entropy(kept, ints({4, 30}));
  EXPECT_EQ(loss.item(), kept_loss.item());
  backward(loss);
  backward(kept_loss);
  EXPECT_TRUE(bit_equal(logits.grad().slice(1, 3), kept.grad()));
  for (const Index row : {0, 3}) EXPECT_EQ(max_abs(logits.grad().slice(row, row + 1)), 0);
}

TEST_P(CrossEntropy, OfIgnoredRowsOnlyIsZero) {
  const Tensor logits = normal({3, kVocab}, "logits", 1000, GetParam()).require_grad();
  const Tensor loss = cross_entropy(logits, ints({-1, -1, -1}));
  EXPECT_EQ(loss.item(), 0);
  backward(loss, 1.0 / 3);
  EXPECT_EQ(max_abs(logits.grad()), 0);
}

TEST_P(CrossEntropy, OfNoRowsIsZero) {
  const Tensor logits = Tensor({0, kVocab}, GetParam()).require_grad();
  const Tensor loss = cross_entropy(logits, ints({}));
  EXPECT_EQ(loss.item(), 0);
  backward(loss);
  EXPECT_EQ(logits.grad().shape(), logits.shape());
}

// Rows may be numbered by sequence and position; 1 / count arrives as the seed and scales the gradient once.
TEST_P(CrossEntropy, TakesBatchesAndASeed) {
  const Tensor logits = normal({2, 3, kVocab}, "logits", 1, GetParam()).require_grad();
  const Tensor flat = logits.view({6, kVocab}).clone().require_grad();
  const Tensor targets = ints({1, 2, -1, 0, 36, 9});
  backward(cross_entropy(logits, targets.view({2, 3})), 0.25);
  backward(cross_entropy(flat, targets));
  dispatch(GetParam(), [&]<class T>() {
    for (T& value : flat.grad().span<T>()) value /= 4;
  });
  const double epsilon = GetParam() == DType::f32 ? 0x1p-24 : 0x1p-53;
  EXPECT_LE(relative_error(logits.grad().view({6, kVocab}), flat.grad()), 4 * epsilon);
}

TEST(CrossEntropyMemory, GradientTakesTheLogitsPlace) {
  const Ledger& ledger = context().ledger;
  const Tensor x = normal({64, 8}, "x", 1, DType::f32);
  const Tensor w = normal({1000, 8}, "w", 1, DType::f32).require_grad();
  const Tensor targets = ints(std::vector<std::int32_t>(64, 3));
  const Index logits_bytes = 64 * 1000 * 4, before = ledger.current_bytes(Category::activation);
  context().ledger.reset_peaks();
  backward(cross_entropy(linear(x, w), targets));
  EXPECT_LT(ledger.peak_bytes(Category::activation) - before, logits_bytes + 4096);
}

}  // namespace
}  // namespace tessera
