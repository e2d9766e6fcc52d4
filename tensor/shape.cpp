#include "tensor/shape.h"

#include <algorithm>

#include "tensor/check.h"

namespace tessera {

Shape::Shape(std::span<const Index> sizes) : num_dims_(static_cast<int>(sizes.size())) {
  check(sizes.size() <= kMaxDims, "Shape", sizes.size(), " dims, at most ", kMaxDims);
  Index product = 1;
  for (const Index size : sizes) {
    check(size >= 0, "Shape", "a dim has size ", size);
    check(!__builtin_mul_overflow(product, std::max<Index>(size, 1), &product), "Shape",
          "more elements than 2^63");
  }
  std::copy(sizes.begin(), sizes.end(), sizes_.begin());
}

Index Shape::dim(int dim) const {
  const int i = dim < 0 ? dim + num_dims_ : dim;
  check(i >= 0 && i < num_dims_, "Shape", "dim ", dim, " of ", *this);
  return sizes_[static_cast<std::size_t>(i)];
}

Index Shape::numel() const {
  Index product = 1;
  for (const Index size : sizes()) product *= size;
  return product;
}

Shape Shape::with_cols(Index cols) const {
  check(num_dims_ > 0, "Shape", "a scalar has no columns");
  Shape result = *this;
  result.sizes_[static_cast<std::size_t>(num_dims_ - 1)] = cols;
  return result;
}

std::string to_string(const Shape& shape) {
  std::string text = "[";
  for (const Index size : shape.sizes()) text += (text.size() > 1 ? ", " : "") + std::to_string(size);
  return text + "]";
}

std::ostream& operator<<(std::ostream& out, const Shape& shape) { return out << to_string(shape); }

}  // namespace tessera
