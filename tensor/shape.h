#pragma once

#include <array>
#include <cassert>
#include <cstdint>
#include <initializer_list>
#include <ostream>
#include <span>
#include <string>

namespace tessera {

/// Sizes, offsets and counts of elements.
using Index = std::int64_t;

/// The sizes of a tensor's dims, outermost first. Holds them inline, so copying a shape allocates nothing.
class Shape {
 public:
  static constexpr int kMaxDims = 4;

  Shape() = default;
  /// @throws std::invalid_argument for more than kMaxDims dims, a negative size, or a product beyond Index.
  Shape(std::initializer_list<Index> sizes) : Shape(std::span<const Index>(sizes.begin(), sizes.size())) {}
  explicit Shape(std::span<const Index> sizes);

  int num_dims() const { return num_dims_; }
  /// Size of `dim`; negative counts from the last, -1 is the innermost. @throws std::invalid_argument out of
  /// range.
  Index dim(int dim) const;
  Index operator[](int dim) const { return this->dim(dim); }
  Index numel() const;
  std::span<const Index> sizes() const { return {sizes_.data(), static_cast<std::size_t>(num_dims_)}; }
  /// The same shape with the last dim replaced.
  Shape with_cols(Index cols) const;

  bool operator==(const Shape&) const = default;

 private:
  std::array<Index, kMaxDims> sizes_{};
  int num_dims_ = 0;
};

/// "[2, 8, 384]"
std::string to_string(const Shape& shape);
std::ostream& operator<<(std::ostream& out, const Shape& shape);

}  // namespace tessera
