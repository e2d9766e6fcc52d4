#include "nn/box.h"

#include <gtest/gtest.h>

#include <numeric>

#include "tests/tensor/gradcheck.h"

namespace tessera::nn {
namespace {

using namespace tessera::testing;
using Runs = std::vector<std::array<Index, 3>>;

Runs runs_of(const Box& box, const Shape& global) {
  Runs runs;
  for_each_run(box, global, [&](Index first, Index inside, Index length) {
    runs.push_back({first, inside, length});
  });
  return runs;
}

/// Element i of the tensor is its own place in the global tensor.
Tensor places(const Shape& global, DType dtype = DType::f64) {
  Tensor result({global.numel()}, dtype);
  dispatch(dtype, [&]<class T>() { std::iota(result.data<T>(), result.data<T>() + global.numel(), T(0)); });
  return result.view(global);
}

/// All boxes of a tensor of this shape with `least` entries or more in each dim, from loops over begins and
/// ends.
std::vector<Box> all_boxes(const Shape& global, Index least = 0) {
  std::vector<Box> boxes = {Box::whole(global)};
  for (int dim = 0; dim < global.num_dims(); ++dim) {
    std::vector<Box> cut;
    for (const Box& box : boxes) {
      for (Index begin = 0; begin <= global[dim]; ++begin) {
        for (Index end = begin + least; end <= global[dim]; ++end) cut.push_back(box.part(dim, begin, end));
      }
    }
    boxes = cut;
  }
  return boxes;
}

/// Whether the box holds the element at `place` of the global tensor; and if so, where inside. The oracle.
Index place_inside(const Box& box, const Shape& global, Index place) {
  Index inside = 0, stride = 1;
  for (int dim = global.num_dims() - 1; dim >= 0; --dim) {
    const Index i = place % global[dim] - box.offset[dim];
    place /= global[dim];
    if (i < 0 || i >= box.shape[dim]) return -1;
    inside += i * stride;
    stride *= box.shape[dim];
  }
  return inside;
}

TEST(Box, PartsCountWithinTheBox) {
  const Box box = Box::whole({7, 5}).rows(2, 6).part(1, 1, 4);
  EXPECT_EQ(box, (Box{{2, 1}, {4, 3}}));
  EXPECT_EQ(box.rows(1, 3), (Box{{3, 1}, {2, 3}}));
  EXPECT_EQ(box.part(-1, 2, 3), (Box{{2, 3}, {4, 1}}));
  EXPECT_EQ(to_string(box), "[4, 3] at [2, 1]");
}

TEST(Box, RefusesPartsBeyondItself) {
  const Box box = Box::whole({7, 5}).rows(2, 6);
  EXPECT_NE(error_of([&] { box.rows(1, 5); }).find("entries 1 to 5 of dim 0 of [4, 5] at [2, 0]"),
            std::string::npos);
  EXPECT_NE(error_of([&] { box.rows(3, 2); }), "");
  EXPECT_NE(error_of([&] { box.rows(-1, 2); }), "");
  EXPECT_NE(error_of([&] { intersect(box, Box::whole({7})); }), "");
  EXPECT_NE(error_of([&] { runs_of(box, {5, 5}); }), "");
  EXPECT_NE(error_of([&] { runs_of(box, {7, 5, 1}); }), "");
}

TEST(Box, IntersectionHoldsWhatBothHold) {
  const Shape global = {3, 4};
  for (const Box& a : all_boxes(global)) {
    for (const Box& b : all_boxes(global)) {
      const Box shared = intersect(a, b);
      Index count = 0;
      for (Index place = 0; place < global.numel(); ++place) {
        const bool in_both = place_inside(a, global, place) >= 0 && place_inside(b, global, place) >= 0;
        EXPECT_EQ(place_inside(shared, global, place) >= 0, in_both);
        count += in_both;
      }
      EXPECT_EQ(shared.shape.numel(), count);
      EXPECT_TRUE(count > 0 || shared.shape == (Shape{0, 0}));
    }
  }
}

TEST(Box, RunsAreAsLongAsTheyCanBe) {
  EXPECT_EQ(runs_of(Box::whole({3, 4}), {3, 4}), (Runs{{0, 0, 12}}));
  EXPECT_EQ(runs_of(Box::whole({3, 4}).rows(1, 3), {3, 4}), (Runs{{4, 0, 8}}));
  EXPECT_EQ(runs_of(Box::whole({3, 4}).part(1, 1, 3), {3, 4}), (Runs{{1, 0, 2}, {5, 2, 2}, {9, 4, 2}}));
  EXPECT_EQ(runs_of(Box::whole({2, 3, 4}).part(1, 1, 2), {2, 3, 4}), (Runs{{4, 0, 4}, {16, 4, 4}}));
  EXPECT_EQ(runs_of(Box::whole({5}).rows(2, 5), {5}), (Runs{{2, 0, 3}}));
  EXPECT_EQ(runs_of(Box::whole({}), {}), (Runs{{0, 0, 1}}));
  EXPECT_EQ(runs_of(Box::whole({3, 4}).rows(2, 2), {3, 4}), Runs{});
  EXPECT_EQ(runs_of(Box::whole({0, 4}), {0, 4}), Runs{});
}

TEST(Box, RunsCoverEachElementOnceInOrder) {
  for (const Shape& global : {Shape{5}, Shape{3, 4}, Shape{2, 3, 2}, Shape{1, 3, 1, 2}}) {
    for (const Box& box : all_boxes(global)) {
      Index next = 0;
      for (const auto& [first, inside, length] : runs_of(box, global)) {
        EXPECT_EQ(inside, next);
        for (Index i = 0; i < length; ++i) EXPECT_EQ(place_inside(box, global, first + i), next++);
      }
      EXPECT_EQ(next, box.shape.numel());
    }
  }
}

/// What a tensor of the box holds after copying from another, by the oracle: -1 where nothing came.
Tensor expected_copy(const Box& from, const Box& to, const Shape& global, DType dtype) {
  Tensor expected(to.shape, dtype);
  expected.fill(-1);
  for (Index place = 0; place < global.numel(); ++place) {
    const Index inside = place_inside(to, global, place);
    if (inside < 0 || place_inside(from, global, place) < 0) continue;
    dispatch(dtype, [&]<class T>() { expected.data<T>()[inside] = static_cast<T>(place); });
  }
  return expected;
}

TEST(CopyOverlap, MovesExactlyWhatIsShared) {
  for (const Shape& global : {Shape{4}, Shape{3, 4}, Shape{2, 2, 2}}) {
    const Tensor source = places(global);
    const std::vector<Box> boxes = all_boxes(global, global.num_dims() == 1 ? 0 : 1);
    for (const Box& from : boxes) {
      const Tensor part(from.shape, DType::f64);
      copy_overlap(source, Box::whole(global), part, from);
      for (const Box& to : boxes) {
        const Tensor target(to.shape, DType::f32);
        target.fill(-1);
        copy_overlap(part, from, target, to);
        ASSERT_TRUE(bit_equal(target, expected_copy(from, to, global, DType::f32)))
            << to_string(from) << to_string(to);
      }
    }
  }
}

TEST(CopyOverlap, RoundsAndWidens) {
  const Tensor wide = Tensor::from<double>({2}, {1.0 / 3, 1e300}), narrow({2}, DType::f32),
               back({2}, DType::f64);
  const Box box = Box::whole({2});
  copy_overlap(wide, box, narrow, box);
  EXPECT_EQ(narrow.data<float>()[0], 1.0f / 3);
  copy_overlap(narrow, box, back, box);
  EXPECT_EQ(back.data<double>()[0], static_cast<double>(1.0f / 3));
}

TEST(CopyOverlap, RefusesTensorsThatAreNotTheirBoxes) {
  const Tensor x = places({3, 4});
  const std::string text = error_of([&] {
    copy_overlap(x, Box::whole({3, 4}), x, Box::whole({3, 4}).rows(0, 2));
  });
  EXPECT_NE(text.find("[3, 4]"), std::string::npos);
  EXPECT_NE(text.find("[2, 4] at [0, 0]"), std::string::npos);
  EXPECT_NE(error_of([&] { copy_overlap(ints({1}), Box::whole({1}), ints({1}), Box::whole({1})); }), "");
}

}  // namespace
}  // namespace tessera::nn
