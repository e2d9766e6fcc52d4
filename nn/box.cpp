#include "nn/box.h"

#include <algorithm>
#include <array>

namespace tessera::nn {
namespace {

using Sizes = std::array<Index, Shape::kMaxDims>;

Sizes sizes_of(const Shape& shape) {
  Sizes sizes{};
  std::ranges::copy(shape.sizes(), sizes.begin());
  return sizes;
}
Shape shape_of(const Sizes& sizes, int num_dims) {
  return Shape(std::span<const Index>(sizes.data(), static_cast<std::size_t>(num_dims)));
}

/// The box counted from the begin of another that contains it.
Box within(const Box& box, const Box& outer) {
  Sizes offset{};
  for (int i = 0; i < box.shape.num_dims(); ++i) offset[i] = box.offset[i] - outer.offset[i];
  return {shape_of(offset, box.shape.num_dims()), box.shape};
}

/// The first dim of a run: from the next one on, the box takes all of `global`.
int first_run_dim(const Box& box, const Shape& global) {
  int dim = std::max(0, box.shape.num_dims() - 1);
  while (dim > 0 && box.shape[dim] == global[dim]) --dim;
  return dim;
}

/// Elements of dims [begin, end).
Index product(const Shape& shape, int begin, int end) {
  Index product = 1;
  for (int i = begin; i < end; ++i) product *= shape[i];
  return product;
}

/// Where run number `run`, of dims `dim` and up, starts in the global tensor.
Index run_begin(const Box& box, const Shape& global, int dim, Index run) {
  Index begin = 0, stride = 1;
  for (int i = global.num_dims() - 1; i >= 0; --i) {
    begin += box.offset[i] * stride;
    if (i < dim) {
      begin += run % box.shape[i] * stride;
      run /= box.shape[i];
    }
    stride *= global[i];
  }
  return begin;
}

void check_inside(const Box& box, const Shape& global) {
  bool inside = box.shape.num_dims() == global.num_dims() && box.offset.num_dims() == global.num_dims();
  for (int i = 0; inside && i < global.num_dims(); ++i) inside = box.shape[i] <= global[i] - box.offset[i];
  check(inside, "box", to_string(box), " is no part of a tensor ", global);
}

}  // namespace

Box Box::whole(const Shape& shape) { return {shape_of({}, shape.num_dims()), shape}; }

Box Box::rows(Index begin, Index end) const { return part(0, begin, end); }

Box Box::part(int dim, Index begin, Index end) const {
  check(0 <= begin && begin <= end && end <= shape.dim(dim), "box", "entries ", begin, " to ", end,
        " of dim ", dim, " of ", to_string(*this));
  Sizes offsets = sizes_of(offset), sizes = sizes_of(shape);
  const int i = dim < 0 ? dim + shape.num_dims() : dim;
  offsets[i] += begin;
  sizes[i] = end - begin;
  return {shape_of(offsets, shape.num_dims()), shape_of(sizes, shape.num_dims())};
}

Box intersect(const Box& a, const Box& b) {
  const int num_dims = a.shape.num_dims();
  check(num_dims == b.shape.num_dims(), "box", to_string(a), " and ", to_string(b),
        " are of different tensors");
  Sizes offset{}, shape{};
  for (int i = 0; i < num_dims; ++i) {
    offset[i] = std::max(a.offset[i], b.offset[i]);
    shape[i] = std::min(a.offset[i] + a.shape[i], b.offset[i] + b.shape[i]) - offset[i];
    if (shape[i] <= 0) return {shape_of({}, num_dims), shape_of({}, num_dims)};
  }
  return {shape_of(offset, num_dims), shape_of(shape, num_dims)};
}

std::string to_string(const Box& box) { return to_string(box.shape) + " at " + to_string(box.offset); }

void for_each_run(const Box& box, const Shape& global,
                  const std::function<void(Index, Index, Index)>& visit) {
  check_inside(box, global);
  const int dim = first_run_dim(box, global);
  const Index length = product(box.shape, dim, global.num_dims());
  const Index runs = length == 0 ? 0 : product(box.shape, 0, dim);
  for (Index run = 0; run < runs; ++run) visit(run_begin(box, global, dim, run), run * length, length);
}

void copy_overlap(const Tensor& from, const Box& from_box, const Tensor& to, const Box& to_box) {
  check(from.shape() == from_box.shape && to.shape() == to_box.shape, "copy_overlap", "from ", from.shape(),
        " as box ", to_string(from_box), " to ", to.shape(), " as box ", to_string(to_box));
  const Box shared = intersect(from_box, to_box);
  if (shared.shape.numel() == 0) return;
  const Box source = within(shared, from_box), target = within(shared, to_box);
  // Runs that are contiguous in both.
  const int dim = std::max(first_run_dim(source, from.shape()), first_run_dim(target, to.shape()));
  const Index length = product(shared.shape, dim, shared.shape.num_dims()),
              runs = product(shared.shape, 0, dim);
  dispatch(from.dtype(), [&]<class From>() {
    dispatch(to.dtype(), [&]<class To>() {
      const From* from_data = from.data<From>();
      To* to_data = to.data<To>();
      for (Index run = 0; run < runs; ++run) {
        std::transform(from_data + run_begin(source, from.shape(), dim, run),
                       from_data + run_begin(source, from.shape(), dim, run) + length,
                       to_data + run_begin(target, to.shape(), dim, run),
                       [](From x) { return static_cast<To>(x); });
      }
    });
  });
}

}  // namespace tessera::nn
