// Every row of the table: gradients, f32 against f64, what an op may write to. Then functions by points.

#include "tensor/ops.h"

#include <gtest/gtest.h>

#include "tests/tensor/op_table.h"

namespace tessera {
namespace {

using namespace testing;

class Op : public ::testing::TestWithParam<OpCase> {};
INSTANTIATE_TEST_SUITE_P(Table, Op, ::testing::ValuesIn(op_cases()),
                         [](const auto& row) { return std::string(row.param.name); });

TEST_P(Op, GradientMatchesDifferences) {
  EXPECT_LE(gradient_error(GetParam().f, leaves(GetParam().inputs)), kGradcheckBound);
}

// Sums here have at most 37 terms, each rounded to 2^-24; functions a little steeper than one take the rest.
constexpr double kFloatBound = 37 * 0x1p-24;

TEST_P(Op, FloatAgreesWithDouble) {
  const auto& [name, f, shapes] = GetParam();
  const Result narrow = run(f, leaves(shapes, DType::f32)), wide = run(f, leaves(shapes, DType::f64));
  EXPECT_LE(relative_error(narrow.y, wide.y), kFloatBound);
  for (std::size_t i = 0; i < shapes.size(); ++i)
    EXPECT_LE(relative_error(narrow.gradients[i], wide.gradients[i]), kFloatBound) << "input " << i;
}

TEST_P(Op, LeavesInputsAlone) {
  const std::vector<Tensor> inputs = leaves(GetParam().inputs);
  std::vector<Tensor> before;
  for (const Tensor& x : inputs) before.push_back(x.clone());
  run(GetParam().f, inputs);
  for (std::size_t i = 0; i < inputs.size(); ++i)
    EXPECT_TRUE(bit_equal(inputs[i], before[i])) << "input " << i;
}

// Gradients are added: a second backward doubles them, also where the first one could write to fresh memory.
TEST_P(Op, GradientsAccumulate) {
  const std::vector<Tensor> inputs = leaves(GetParam().inputs);
  std::vector<Tensor> doubled;
  for (const Tensor& dx : run(GetParam().f, inputs).gradients) {
    doubled.push_back(dx.clone());
    add_into(doubled.back(), dx);
  }
  const Result twice = run(GetParam().f, inputs);
  for (std::size_t i = 0; i < inputs.size(); ++i)
    EXPECT_LE(relative_error(twice.gradients[i], doubled[i]), 1e-14) << "input " << i;
}

// An op that was given the only handle may work in place, and must still compute the same.
TEST(ByValueOps, ComputeTheSameInPlace) {
  const Tensor x = normal({2, 3, 8}, "x"), y = normal({2, 3, 8}, "y"), w = normal({3, 8}, "w");
  const Tensor positions = ints({2, 0, 1}), targets = ints({1, 7, -1, 0, 0, 4});
  const DropoutMask mask = mask_of({0, 1}, {0, 1, 2}, 3);

  EXPECT_TRUE(bit_equal(add(x.clone(), y), add(x, y)));
  EXPECT_TRUE(bit_equal(add_positions(x.clone(), w, positions), add_positions(x, w, positions)));
  EXPECT_TRUE(bit_equal(rope(x.clone(), positions, 4, 100), rope(x, positions, 4, 100)));
  EXPECT_TRUE(bit_equal(dropout(x.clone(), 0.5, mask), dropout(x, 0.5, mask)));
  EXPECT_TRUE(bit_equal(cross_entropy(x.clone(), targets), cross_entropy(x, targets)));
}

// Whoever else looks at the memory, through a handle, a view or a part of it, keeps what it sees.
TEST(ByValueOps, LeaveMemoryThatOthersHold) {
  const Tensor positions = ints({2, 0, 1}), targets = ints({1, 7, -1, 0, 0, 4}), w = normal({3, 8}, "w");
  const std::vector<std::function<void(Tensor)>> ops = {
      [](Tensor x) {
        add(std::move(x), normal({2, 3, 8}, "y"));
      },
      [&](Tensor x) { add_positions(std::move(x), w, positions); },
      [&](Tensor x) { rope(std::move(x), positions, 4, 100); },
      [](Tensor x) {
        dropout(std::move(x), 0.5, mask_of({0, 1}, {0, 1, 2}, 3));
      },
      [&](Tensor x) { backward(cross_entropy(std::move(x.require_grad()), targets)); },
  };
  const std::vector<std::function<Tensor(const Tensor&)>> holders = {
      [](const Tensor& x) { return x; },
      [](const Tensor& x) { return x.view({48}); },
      [](const Tensor& x) { return x.slice(1, 2); },
  };
  for (const auto& op : ops) {
    for (const auto& holder : holders) {
      Tensor x = normal({2, 3, 8}, "x");
      const Tensor held = holder(x), before = held.clone();
      op(std::move(x));
      EXPECT_TRUE(bit_equal(held, before));
    }
  }
}

// gelu's gradient needs the hidden state, the norm's the sum: the ops they are moved into must spoil neither.
TEST(ByValueOps, KeepWhatBackwardNeeds) {
  const Function f = [](const std::vector<Tensor>& in) {
    Tensor h = linear(in[0], in[1]);
    Tensor sum = add(gelu(h), h);
    sum = add(std::move(sum), std::move(h));
    Tensor turned = rope(rms_norm(sum, in[2], 1e-5), ints({0, 1, 2}), 4, 100);
    Tensor logits = dropout(add(std::move(turned), std::move(sum)), 0.3, mask_of({0}, {0, 1, 2}, 3));
    const Tensor also = swiglu(logits, logits);
    return add(cross_entropy(std::move(logits), ints({0, 3, 7})), cross_entropy(also, ints({1, -1, 5})));
  };
  EXPECT_LE(gradient_error(f, leaves({{1, 3, 5}, {8, 5}, {8}})), kGradcheckBound);
}

TEST(Gelu, MatchesErf) {
  const Index count = 4001;
  const Tensor x({count}, DType::f64);
  const double largest = 15.625;
  for (Index i = 0; i < count; ++i)
    x.data<double>()[i] = largest * static_cast<double>(2 * i - count + 1) / static_cast<double>(count - 1);
  const auto exact = [](double value) { return 0.5 * value * (1 + std::erf(value / std::sqrt(2.0))); };
  for (const DType dtype : {DType::f32, DType::f64}) {
    const double epsilon = dtype == DType::f32 ? 0x1p-23 : 0x1p-52;
    const Tensor y = to(DType::f64, gelu(to(dtype, x)));
    for (Index i = 0; i < count; ++i) {
      const double value = x.data<double>()[i];
      ASSERT_NEAR(y.data<double>()[i], exact(value), 2 * epsilon * std::abs(value))
          << "gelu(" << value << ")";
    }
  }
}

// Beyond the range of exp the functions are 0 or the identity, their slopes 0 or 1.
TEST(Pointwise, LargeInputsNeitherOverflowNorVanish) {
  const std::vector<double> points = {-1e30, -1e4, -200, 200, 1e4, 1e30};
  constexpr double kTiny = 1e-7;  // f32's sigmoid of a very negative x is not 0 but e^-88, and x may be large
  for (const DType dtype : {DType::f32, DType::f64}) {
    const Tensor x = to(dtype, Tensor::from<double>({6}, points)), one({6}, dtype);
    one.fill(1);
    for (const bool gated : {false, true}) {
      const auto f = [&](const std::vector<Tensor>& in) { return gated ? swiglu(in[0], one) : gelu(in[0]); };
      const Result result = run(f, {x.clone().require_grad()});
      const Tensor y = to(DType::f64, result.y), dx = to(DType::f64, result.gradients[0]);
      const Tensor wide = to(DType::f64, x), dy = to(DType::f64, output_weights(result.y));
      for (Index i = 0; i < 6; ++i) {
        const double slope = i < 3 ? 0 : 1;
        EXPECT_NEAR(y.data<double>()[i], slope * wide.data<double>()[i], kTiny)
            << to_string(dtype) << points[i];
        EXPECT_NEAR(dx.data<double>()[i], slope * dy.data<double>()[i], kTiny)
            << to_string(dtype) << points[i];
      }
    }
  }
}

}  // namespace
}  // namespace tessera
