// Shapes, handles, and what a caller's mistake says: the op in brackets and both values.

#include "tensor/shape.h"

#include <gtest/gtest.h>

#include "tensor/ops.h"
#include "tests/tensor/op_table.h"

namespace tessera {
namespace {

using namespace testing;

TEST(Shape, CountsDimsFromEitherEnd) {
  const Shape shape = {2, 3, 5};
  EXPECT_EQ(shape.num_dims(), 3);
  EXPECT_EQ(shape.numel(), 30);
  EXPECT_EQ(shape[0], 2);
  EXPECT_EQ(shape[-1], 5);
  EXPECT_EQ(shape.with_cols(7), (Shape{2, 3, 7}));
  EXPECT_EQ(to_string(shape), "[2, 3, 5]");
}

TEST(Shape, ScalarAndEmpty) {
  EXPECT_EQ(Shape().numel(), 1);
  EXPECT_EQ(to_string(Shape()), "[]");
  EXPECT_EQ((Shape{3, 0}).numel(), 0);
  EXPECT_NE((Shape{1}), Shape());
}

TEST(Tensor, SeesAMatrix) {
  const Tensor x({2, 3, 5}, DType::f32), scalar({}, DType::f32), none({0, 5}, DType::f32);
  EXPECT_EQ(x.rows(), 6);
  EXPECT_EQ(x.cols(), 5);
  EXPECT_EQ(scalar.rows() * scalar.cols(), 1);
  EXPECT_EQ(none.rows(), 0);
  EXPECT_EQ(none.cols(), 5);
}

TEST(Tensor, HandlesShareMemoryAndClonesDoNot) {
  const Tensor x = Tensor::from<double>({3, 2}, {0, 1, 2, 3, 4, 5});
  const Tensor row = x.slice(1, 2), flat = x.view({6}), copy = x.clone();
  flat.data<double>()[3] = 9;
  EXPECT_EQ(row.data<double>()[1], 9);
  EXPECT_EQ(copy.data<double>()[3], 3);
  EXPECT_EQ(x.slice(3, 3).numel(), 0);
  EXPECT_FALSE(x.unique());
  EXPECT_TRUE(copy.unique());
}

TEST(Tensor, PartsAreOutsideAnyGraph) {
  const Tensor x = Tensor({3, 2}, DType::f32).require_grad();
  for (const Tensor& part : {x.slice(0, 1), x.view({6}), x.detach(), x.clone()})
    EXPECT_FALSE(part.wants_grad());
}

struct Mistake {
  const char* name;
  std::function<void()> make;
  std::vector<std::string> says;  ///< parts of the message
};
std::ostream& operator<<(std::ostream& out, const Mistake& mistake) { return out << mistake.name; }

Tensor f32(const Shape& shape) { return Tensor::zeros(shape, DType::f32); }
Tensor f64(const Shape& shape) { return Tensor::zeros(shape, DType::f64); }

// clang-format off
std::vector<Mistake> mistakes() {
  return {
      {"negative_size", [] { Shape({2, -3}); }, {"-3"}},
      {"too_many_dims", [] { Shape({1, 2, 3, 4, 5}); }, {"5", "4"}},
      {"too_many_elements", [] { Shape({Index{1} << 40, Index{1} << 40}); }, {"[Shape]"}},
      {"dim_out_of_range", [] { Shape({2, 3}).dim(2); }, {"2", "[2, 3]"}},
      {"from", [] { Tensor::from<float>({2, 3}, {1, 2}); }, {"2 values", "[2, 3]"}},
      {"beyond_storage", [] { Tensor(f32({4}).storage(), 2, {3}, DType::f32); }, {"[3]", "16 bytes"}},
      {"item", [] { f32({2, 3}).item(); }, {"[item]", "[2, 3]"}},
      {"slice", [] { f32({2, 3}).slice(1, 5); }, {"[slice]", "1", "5", "[2, 3]"}},
      {"view", [] { f32({2, 3}).view({7}); }, {"[view]", "[2, 3]", "[7]"}},
      {"copy_from", [] { f32({2, 3}).copy_from(f32({3, 2})); }, {"[copy_from]", "[2, 3]", "[3, 2]"}},
      {"copy_from_dtype", [] { f32({2}).copy_from(f64({2})); }, {"[copy_from]", "f32", "f64"}},
      {"require_grad", [] { ints({1}).require_grad(); }, {"[require_grad]", "i32"}},
      {"linear", [] { linear(f32({2, 5}), f32({3, 4})); }, {"[linear]", "[2, 5]", "[3, 4]"}},
      {"linear_bias", [] { linear(f32({2, 5}), f32({3, 5}), f32({4})); }, {"[linear]", "[3, 5]", "[4]"}},
      {"linear_dtype", [] { linear(f32({2, 5}), f64({3, 5})); }, {"[linear]", "f32", "f64"}},
      {"linear_bias_dtype", [] { linear(f32({2, 5}), f32({3, 5}), f64({3})); }, {"[linear]", "f32", "f64"}},
      {"add", [] { add(f32({2, 3}), f32({3, 2})); }, {"[add]", "[2, 3]", "[3, 2]"}},
      {"add_dtype", [] { add(f32({2, 3}), f64({2, 3})); }, {"[add]", "f32", "f64"}},
      {"swiglu", [] { swiglu(f32({2, 3}), f32({2, 4})); }, {"[swiglu]", "[2, 3]", "[2, 4]"}},
      {"layer_norm", [] { layer_norm(f32({2, 3}), f32({4}), f32({3}), 1e-5); },
       {"[layer_norm]", "[2, 3]", "[4]"}},
      {"layer_norm_bias", [] { layer_norm(f32({2, 3}), f32({3}), f32({4}), 1e-5); },
       {"[layer_norm]", "[2, 3]", "[4]"}},
      {"layer_norm_bias_dtype", [] { layer_norm(f32({2, 3}), f32({3}), f64({3}), 1e-5); },
       {"[layer_norm]", "f32", "f64"}},
      {"rms_norm", [] { rms_norm(f32({2, 3}), f32({4}), 1e-5); }, {"[rms_norm]", "[2, 3]", "[4]"}},
      {"rms_norm_dtype", [] { rms_norm(f32({2, 3}), f64({3}), 1e-5); }, {"[rms_norm]", "f32", "f64"}},
      {"embedding_token", [] { embedding(ints({1, 7}), f32({7, 3})); }, {"[embedding]", "7"}},
      {"embedding_negative", [] { embedding(ints({-1}), f32({7, 3})); }, {"[embedding]", "-1", "7"}},
      {"positions", [] { add_positions(f32({1, 2, 3}), f32({7, 4}), ints({0, 1})); },
       {"[add_positions]", "[1, 2, 3]", "[7, 4]"}},
      {"positions_dtype", [] { add_positions(f32({1, 2, 3}), f64({7, 3}), ints({0, 1})); },
       {"[add_positions]", "f32", "f64"}},
      {"position", [] { add_positions(f32({1, 2, 3}), f32({7, 3}), ints({0, 8})); },
       {"[add_positions]", "8", "7"}},
      {"rope_odd_head", [] { rope(f32({1, 2, 9}), ints({0, 1}), 3, 100); }, {"[rope]", "3"}},
      {"rope_width", [] { rope(f32({1, 2, 6}), ints({0, 1}), 4, 100); }, {"[rope]", "[1, 2, 6]", "4"}},
      {"rope_positions", [] { rope(f32({1, 2, 8}), ints({0}), 4, 100); }, {"[rope]", "[1, 2, 8]", "1"}},
      {"dropout_sequences", [] { dropout(f32({2, 3, 4}), 0.5, mask_of({0}, {0, 1, 2}, 3)); },
       {"[dropout]", "[2, 3, 4]", "1"}},
      {"dropout_columns", [] { dropout(f32({1, 1, 4}), 0.5, mask_of({0}, {0}, 1, 3, 6)); },
       {"[dropout]", "3", "6"}},
      {"attention_width", [] { attention(f32({1, 2, 6}), f32({1, 2, 6}), f32({1, 2, 6}), 4); },
       {"[attention]", "[1, 2, 6]", "4"}},
      {"attention_heads", [] { attention(f32({1, 2, 12}), f32({1, 2, 8}), f32({1, 2, 8}), 4); },
       {"[attention]", "3", "2"}},
      {"attention_length", [] { attention(f32({1, 2, 8}), f32({1, 3, 8}), f32({1, 3, 8}), 4); },
       {"[attention]", "[1, 2, 8]", "[1, 3, 8]"}},
      {"attention_dtype", [] { attention(f32({1, 2, 8}), f64({1, 2, 8}), f64({1, 2, 8}), 4); },
       {"[attention]", "f32", "f64"}},
      {"cross_entropy_target", [] { cross_entropy(f32({2, 7}), ints({0, 7})); }, {"[cross_entropy]", "7"}},
      {"cross_entropy_rows", [] { cross_entropy(f32({2, 7}), ints({0, 1, 2})); },
       {"[cross_entropy]", "[2, 7]", "[3]"}},
      {"cross_entropy_dtype", [] { cross_entropy(f32({2, 7}), f32({2})); }, {"[cross_entropy]", "f32"}},
      {"gelu_of_integers", [] { gelu(ints({1})); }, {"i32"}},
  };
}
// clang-format on

class Message : public ::testing::TestWithParam<Mistake> {};
INSTANTIATE_TEST_SUITE_P(Of, Message, ::testing::ValuesIn(mistakes()),
                         [](const auto& mistake) { return std::string(mistake.param.name); });

TEST_P(Message, HoldsBothValues) {
  const std::string text = error_of(GetParam().make);
  ASSERT_NE(text, "") << "no error";
  for (const std::string& part : GetParam().says)
    EXPECT_TRUE(text.find(part) != std::string::npos) << '"' << part << "\" is not in: " << text;
}

}  // namespace
}  // namespace tessera
