#include "tensor/tensor.h"

#include <algorithm>
#include <cstring>

#include "tensor/autograd.h"

namespace tessera {

Tensor::Tensor(const Shape& shape, DType dtype, Category category)
    : storage_(std::make_shared<Storage>(shape.numel() * bytes_of(dtype), category)),
      shape_(shape),
      dtype_(dtype) {}

Tensor::Tensor(std::shared_ptr<Storage> storage, Index offset, const Shape& shape, DType dtype)
    : storage_(std::move(storage)), offset_(offset), shape_(shape), dtype_(dtype) {
  check(storage_ != nullptr && offset >= 0 && (offset + numel()) * bytes_of(dtype) <= storage_->bytes(),
        "Tensor", shape, " at offset ", offset, " does not fit into ", storage_ ? storage_->bytes() : 0,
        " bytes");
}

Tensor Tensor::zeros(const Shape& shape, DType dtype, Category category) {
  Tensor result(shape, dtype, category);
  std::memset(result.storage_->data(), 0, static_cast<std::size_t>(result.bytes()));
  return result;
}

Index Tensor::rows() const {
  Index rows = 1;
  for (int dim = 0; dim + 1 < shape_.num_dims(); ++dim) rows *= shape_.dim(dim);
  return rows;
}

double Tensor::item() const {
  check(defined() && numel() == 1, "item", "the tensor is ", shape_, ", not one element");
  return dispatch(dtype_, [&]<class T>() { return static_cast<double>(*data<T>()); });
}

Tensor Tensor::slice(Index begin, Index end) const {
  check(0 <= begin && begin <= end && end <= dim(0), "slice", "rows ", begin, " to ", end, " of ", shape_);
  const Index row = dim(0) == 0 ? 0 : numel() / dim(0);
  std::vector<Index> sizes(shape_.sizes().begin(), shape_.sizes().end());
  sizes[0] = end - begin;
  return Tensor(storage_, offset_ + begin * row, Shape(std::span<const Index>(sizes)), dtype_);
}

Tensor Tensor::view(const Shape& shape) const {
  check(shape.numel() == numel(), "view", shape_, " as ", shape);
  return Tensor(storage_, offset_, shape, dtype_);
}

Tensor Tensor::detach() const {
  Tensor result = *this;
  result.slot_.reset();
  return result;
}

Tensor Tensor::slot_only() const {
  Tensor result = *this;
  result.storage_.reset();
  return result;
}

Tensor Tensor::clone(Category category) const {
  Tensor result(shape_, dtype_, category);
  result.copy_from(*this);
  return result;
}

void Tensor::copy_from(const Tensor& other) const {
  check(other.shape() == shape_ && other.dtype() == dtype_, "copy_from", other, " into ", *this);
  const auto bytes_at = [](const Tensor& t) {
    return static_cast<std::byte*>(t.storage_->data()) + t.offset_ * bytes_of(t.dtype_);
  };
  if (numel() > 0) std::memmove(bytes_at(*this), bytes_at(other), static_cast<std::size_t>(bytes()));
}

void Tensor::fill(double value) const {
  dispatch(dtype_, [&]<class T>() { std::ranges::fill(span<T>(), static_cast<T>(value)); });
}

Tensor& Tensor::require_grad(Category category) {
  check(dtype_ != DType::i32, "require_grad", "an i32 tensor has no gradient");
  slot_ = std::make_shared<Slot>();
  slot_->leaf = true;
  slot_->shape = shape_;
  slot_->dtype = dtype_;
  slot_->category = category;
  return *this;
}

Tensor Tensor::grad() const { return slot_ ? slot_->grad : Tensor(); }

std::ostream& operator<<(std::ostream& out, const Tensor& tensor) {
  return tensor.defined() ? out << to_string(tensor.dtype()) << ' ' << tensor.shape() : out << "undefined";
}

void Tensor::zero_grad() const {
  if (slot_) slot_->grad = Tensor();
}

}  // namespace tessera
