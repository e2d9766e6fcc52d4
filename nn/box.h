#pragma once

#include <functional>
#include <string>

#include "tensor/tensor.h"

namespace tessera::nn {

/// A rectangular part of a global tensor: where it starts in each dim and how far it goes.
struct Box {
  Shape offset, shape;

  /// All of a tensor of this shape.
  static Box whole(const Shape& shape);
  /// Rows [begin, end) of the first dim, counted within this box.
  Box rows(Index begin, Index end) const;
  /// Entries [begin, end) of `dim`, counted within this box.
  Box part(int dim, Index begin, Index end) const;

  bool operator==(const Box&) const = default;
};

/// What two boxes of one global tensor share; every size 0 if nothing.
Box intersect(const Box& a, const Box& b);
std::string to_string(const Box& box);

/// Calls visit(offset of the first, offset inside the box, length) for each run of elements that is
/// contiguous in the global tensor (row-major), in order.
void for_each_run(const Box& box, const Shape& global, const std::function<void(Index, Index, Index)>& visit);

/// Copies what `from_box` and `to_box` share from one tensor to the other; each tensor holds exactly its box.
/// f32 and f64 convert to each other.
void copy_overlap(const Tensor& from, const Box& from_box, const Tensor& to, const Box& to_box);

}  // namespace tessera::nn
