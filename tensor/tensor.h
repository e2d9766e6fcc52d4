#pragma once

#include <cassert>
#include <memory>
#include <ostream>
#include <span>
#include <vector>

#include "tensor/dtype.h"
#include "tensor/memory.h"
#include "tensor/shape.h"
#include "tensor/storage.h"

namespace tessera {

struct Slot;

/// A value handle on a contiguous, row-major array: (storage, offset, shape, dtype), and a slot where its
/// gradient goes if it takes part in a graph. Copies share memory and slot. const means the handle, not the
/// numbers.
class Tensor {
 public:
  /// Undefined: no storage. What an absent bias is.
  Tensor() = default;
  /// Uninitialised.
  Tensor(const Shape& shape, DType dtype, Category category = Category::activation);
  /// A part of `storage` that starts `offset` elements from its begin. @throws std::invalid_argument beyond
  /// its end.
  Tensor(std::shared_ptr<Storage> storage, Index offset, const Shape& shape, DType dtype);

  static Tensor zeros(const Shape& shape, DType dtype, Category category = Category::activation);
  template <class T>
  static Tensor from(const Shape& shape, std::span<const T> values, Category category = Category::activation);
  template <class T>
  static Tensor from(const Shape& shape, const std::vector<T>& values,
                     Category category = Category::activation) {
    return from<T>(shape, std::span<const T>(values), category);
  }

  bool defined() const { return storage_ != nullptr; }
  const Shape& shape() const { return shape_; }
  Index dim(int dim) const { return shape_.dim(dim); }
  Index numel() const { return shape_.numel(); }
  /// A tensor seen as a matrix: the last dim is its columns, all others together its rows. A scalar is [1,
  /// 1].
  Index cols() const { return shape_.num_dims() == 0 ? 1 : shape_.dim(-1); }
  Index rows() const;
  DType dtype() const { return dtype_; }
  Index bytes() const { return numel() * bytes_of(dtype_); }
  const std::shared_ptr<Storage>& storage() const { return storage_; }
  Index offset() const { return offset_; }

  /// The elements. Fills a released storage by its recipe; @throws std::logic_error if there is none.
  template <class T>
  T* data() const {
    assert(dtype_ == dtype_of<T>());
    return static_cast<T*>(storage_->data()) + offset_;
  }
  template <class T>
  std::span<T> span() const {
    return {data<T>(), static_cast<std::size_t>(numel())};
  }
  /// The only element, as a double. @throws std::invalid_argument for any other count.
  double item() const;

  /// Rows [begin, end) of the first dim, sharing memory; outside any graph.
  Tensor slice(Index begin, Index end) const;
  /// The same elements in another shape, sharing memory; outside any graph.
  Tensor view(const Shape& shape) const;
  /// The same elements outside any graph.
  Tensor detach() const;
  /// The same place in the graph without the memory: for a backward that adds to a gradient but needs no
  /// values.
  Tensor slot_only() const;
  /// A copy outside any graph.
  Tensor clone() const { return clone(storage_->category()); }
  Tensor clone(Category category) const;
  void copy_from(const Tensor& other) const;
  void fill(double value) const;

  /// Whether this handle is the only one on its storage, so an op that was given it may write its result
  /// there.
  bool unique() const { return storage_.use_count() == 1 && !storage_->has_recipe(); }

  /// Makes this a leaf of graphs to come: backward adds into grad(), whose memory counts as `category`.
  Tensor& require_grad(Category category = Category::gradient);
  bool wants_grad() const { return slot_ != nullptr; }
  /// What backward has added so far; undefined if nothing.
  Tensor grad() const;
  void zero_grad() const;
  const std::shared_ptr<Slot>& slot() const { return slot_; }
  void set_slot(std::shared_ptr<Slot> slot) { slot_ = std::move(slot); }

 private:
  std::shared_ptr<Storage> storage_;
  Index offset_ = 0;
  Shape shape_;
  DType dtype_ = DType::f32;
  std::shared_ptr<Slot> slot_;
};

/// "f32 [2, 8, 384]", or "undefined".
std::ostream& operator<<(std::ostream& out, const Tensor& tensor);

template <class T>
Tensor Tensor::from(const Shape& shape, std::span<const T> values, Category category) {
  check(static_cast<Index>(values.size()) == shape.numel(), "Tensor::from", values.size(), " values for ",
        shape);
  Tensor result(shape, dtype_of<T>(), category);
  std::copy(values.begin(), values.end(), result.data<T>());
  return result;
}

}  // namespace tessera
