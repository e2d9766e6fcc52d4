#include "nn/parameter.h"

#include <gtest/gtest.h>

#include "tests/tensor/gradcheck.h"

namespace tessera::nn {
namespace {

using namespace tessera::testing;

constexpr std::uint64_t kSeed = 5;
constexpr DType kDTypes[] = {DType::f32, DType::f64};

ParameterPtr parameter(const Shape& shape, const Recipe& recipe = {0, 0.02}, const char* name = "w") {
  return std::make_shared<Parameter>(name, shape, recipe);
}

/// The box cut from a tensor that holds all, element by element: the oracle.
Tensor cut(const Tensor& whole, const Box& box) {
  Tensor part(box.shape, whole.dtype());
  copy_overlap(whole, Box::whole(whole.shape()), part, box);
  return part;
}

TEST(Parameter, DescribesTheWholeAtFirst) {
  const ParameterPtr p = parameter({7, 5});
  EXPECT_EQ(p->used, Box::whole({7, 5}));
  EXPECT_EQ(p->owned, p->used);
  EXPECT_FALSE(p->value.defined());
  EXPECT_TRUE(p->decays());
  EXPECT_FALSE(parameter({7})->decays());
}

// The wide one is drawn in many pieces, by many threads.
TEST(Draw, IsTheStreamAtTheGlobalIndex) {
  for (const Shape& shape : {Shape{7, 5}, Shape{2, 3, 5}, Shape{101}, Shape{300, 1001}}) {
    const ParameterPtr p = parameter(shape, {1.5, 0.25});
    const RandomStream stream(kSeed, "w");
    for (const int threads : {1, 3}) {
      const Scoped<int> scope(context().threads, threads);
      const Tensor values = draw(*p, p->used, kSeed, DType::f64);
      for (Index i = 0; i < shape.numel(); ++i) {
        ASSERT_EQ(values.data<double>()[i], std::fma(0.25, stream.normal(i), 1.5)) << shape << " at " << i;
      }
    }
  }
}

TEST(Draw, SinglePrecisionIsTheDoubleRounded) {
  const ParameterPtr p = parameter({13, 11}, {1, 0.2});
  EXPECT_TRUE(
      bit_equal(draw(*p, p->used, kSeed, DType::f32), to(DType::f32, draw(*p, p->used, kSeed, DType::f64))));
}

TEST(Draw, OfAnyBoxIsThePartOfTheWhole) {
  const ParameterPtr p = parameter({7, 5});
  for (const DType dtype : kDTypes) {
    const Tensor whole = draw(*p, p->used, kSeed, dtype);
    for (Index top = 0; top <= 7; ++top) {
      for (Index bottom = top; bottom <= 7; ++bottom) {
        for (Index left = 0; left <= 5; ++left) {
          for (Index right = left; right <= 5; ++right) {
            const Box box = p->used.rows(top, bottom).part(1, left, right);
            ASSERT_TRUE(bit_equal(draw(*p, box, kSeed, dtype), cut(whole, box))) << to_string(box);
          }
        }
      }
    }
  }
}

TEST(Draw, OfAWideBoxIsThePartOfTheWhole) {
  const ParameterPtr p = parameter({203, 1001});
  const Scoped<int> scope(context().threads, 3);
  const Box box = p->used.rows(17, 200).part(1, 333, 998);
  EXPECT_TRUE(bit_equal(draw(*p, box, kSeed, DType::f32), cut(draw(*p, p->used, kSeed, DType::f32), box)));
}

TEST(Draw, WithoutDeviationIsTheMean) {
  const ParameterPtr p = parameter({3}, {1, 0});
  const Tensor values = draw(*p, p->used, kSeed, DType::f64);
  for (const double value : values.span<double>()) EXPECT_EQ(value, 1);
}

TEST(Draw, OverrideSetsTheDeviationAndKeepsTheMean) {
  const ParameterPtr constant = parameter({9}, {1, 0}), drawn = parameter({9}, {1, 0.2});
  EXPECT_TRUE(bit_equal(draw(*constant, constant->used, kSeed, DType::f64, 0.2),
                        draw(*drawn, drawn->used, kSeed, DType::f64)));
}

TEST(Draw, DependsOnNameAndSeed) {
  const ParameterPtr w = parameter({9}), v = parameter({9}, {0, 0.02}, "v");
  const Tensor values = draw(*w, w->used, kSeed, DType::f64);
  EXPECT_FALSE(bit_equal(values, draw(*v, v->used, kSeed, DType::f64)));
  EXPECT_FALSE(bit_equal(values, draw(*w, w->used, kSeed + 1, DType::f64)));
}

TEST(Materialize, MakesLeavesInTheParametersMemory) {
  const ParameterPtr p = parameter({7, 5});
  const Index before = context().ledger.current_bytes(Category::parameter);
  materialize({p}, kSeed, DType::f32);
  EXPECT_TRUE(p->value.wants_grad());
  EXPECT_EQ(context().ledger.current_bytes(Category::parameter) - before, 7 * 5 * 4);
  EXPECT_EQ(p->owned_value.storage(), p->value.storage());
  EXPECT_FALSE(p->owned_value.wants_grad());
}

TEST(Materialize, OwnedRowsShareTheUsedBox) {
  const ParameterPtr p = parameter({7, 5});
  const Tensor whole = draw(*p, p->used, kSeed, DType::f64);
  p->used = p->used.rows(1, 6).part(1, 2, 5);
  p->owned = p->used.rows(3, 5);
  materialize({p}, kSeed, DType::f64);
  EXPECT_EQ(p->first_owned_row(), 3);
  EXPECT_TRUE(bit_equal(p->value, cut(whole, p->used)));
  EXPECT_TRUE(bit_equal(p->owned_value, cut(whole, p->owned)));
  EXPECT_EQ(p->owned_value.data<double>(), p->value.data<double>() + 3 * 3);
}

TEST(Materialize, OwnedRowsKeptApartAreAllThereIs) {
  const ParameterPtr p = parameter({7, 5});
  const Tensor whole = draw(*p, p->used, kSeed, DType::f64);
  p->owned = p->used.rows(3, 5);
  p->owned_apart = true;
  const Index before = context().ledger.current_bytes(Category::parameter);
  materialize({p}, kSeed, DType::f64);
  EXPECT_EQ(context().ledger.current_bytes(Category::parameter) - before, 2 * 5 * 8);
  EXPECT_TRUE(p->value.storage()->released());
  EXPECT_TRUE(p->value.wants_grad());
  EXPECT_TRUE(bit_equal(p->owned_value, cut(whole, p->owned)));
}

TEST(Materialize, OwnsMayBeNothing) {
  const ParameterPtr p = parameter({7, 5});
  p->owned = p->used.rows(7, 7);
  materialize({p}, kSeed, DType::f64);
  EXPECT_EQ(p->owned_value.shape(), (Shape{0, 5}));
}

TEST(Materialize, RefusesWhatCannotBe) {
  const ParameterPtr p = parameter({7, 5});
  EXPECT_NE(error_of([&] {
              materialize({p, parameter({3})}, kSeed, DType::f32);
            }).find("named w"),
            std::string::npos);
  p->owned = p->used.part(1, 0, 2);
  EXPECT_NE(error_of([&] { materialize({p}, kSeed, DType::f32); }).find("w owns [7, 2] at [0, 0]"),
            std::string::npos);
  p->used = p->used.rows(0, 3);
  p->owned = Box::whole({7, 5}).rows(2, 4);
  EXPECT_NE(error_of([&] { materialize({p}, kSeed, DType::f32); }).find("[2, 5] at [2, 0]"),
            std::string::npos);
  EXPECT_NE(error_of([] { parameter({}); }).find("one dim"), std::string::npos);
}

TEST(Parameters, GradientsGoAndElementsCount) {
  const Parameters all = {parameter({7, 5}), parameter({4}, {}, "b")};
  all[0]->used = all[0]->used.rows(0, 3);
  all[0]->owned = all[0]->used;
  EXPECT_EQ(count_elements(all), 3 * 5 + 4);
  materialize(all, kSeed, DType::f64);
  ASSERT_EQ(values(all).size(), 2u);
  EXPECT_EQ(values(all)[1].slot(), all[1]->value.slot());

  add_grad(all[0]->value, Tensor::zeros({3, 5}, DType::f64));
  all[0]->owned_grad = all[0]->value.grad();
  zero_grad(all);
  EXPECT_FALSE(all[0]->value.grad().defined());
  EXPECT_FALSE(all[0]->owned_grad.defined());
}

}  // namespace
}  // namespace tessera::nn
