#include "dist/comm/buffer.h"

#include <algorithm>
#include <cstring>

#include "tensor/check.h"

namespace tessera::dist {
namespace {

Element element_of(DType dtype) {
  return dtype == DType::f32 ? Element::f32 : dtype == DType::f64 ? Element::f64 : Element::i32;
}

void* data_of(const Tensor& tensor) {
  return static_cast<std::byte*>(tensor.storage()->data()) +
         tensor.offset() * tessera::bytes_of(tensor.dtype());
}

template <class T>
T larger(T a, T b) {
  if constexpr (std::is_floating_point_v<T>)
    if (b != b) return b;
  return b > a ? b : a;
}

template <class T>
void combine_array(std::byte* into, const std::byte* from, Index count, Reduction reduction) {
  T* const a = reinterpret_cast<T*>(into);
  const T* const b = reinterpret_cast<const T*>(from);
  if (reduction == Reduction::sum)
    for (Index i = 0; i < count; ++i) a[i] += b[i];
  else
    for (Index i = 0; i < count; ++i) a[i] = larger(a[i], b[i]);
}

}  // namespace

Index bytes_of(Element element) {
  switch (element) {
    case Element::byte:
      return 1;
    case Element::f32:
    case Element::i32:
      return 4;
    default:
      return 8;
  }
}

const char* to_string(Element element) {
  constexpr const char* kNames[] = {"byte", "f32", "f64", "i32", "i64"};
  return kNames[static_cast<int>(element)];
}

Buffer::Buffer(std::vector<Tensor> tensors) : tensors_(std::move(tensors)) {
  if (tensors_.empty()) return;
  for (const Tensor& tensor : tensors_) {
    check(tensor.defined(), "Buffer", "an undefined tensor");
    check(tensor.dtype() == tensors_[0].dtype(), "Buffer", "tensors of ",
          tessera::to_string(tensors_[0].dtype()), " and ", tessera::to_string(tensor.dtype()));
    append(data_of(tensor), tensor.numel());
  }
  element_ = element_of(tensors_[0].dtype());
}

void Buffer::append(void* data, Index count) {
  if (count == 0) return;
  ends_.push_back(this->count() + count);
  begins_.push_back(static_cast<std::byte*>(data));
}

std::size_t Buffer::part_at(Index position) const {
  return static_cast<std::size_t>(std::ranges::upper_bound(ends_, position) - ends_.begin());
}

template <class Body>
void Buffer::for_each_piece(const plan::Range& range, Body&& body) const {
  Index position = range.begin;
  for (std::size_t i = part_at(position); position < range.end(); ++i) {
    const Index start = i == 0 ? 0 : ends_[i - 1], end = std::min(ends_[i], range.end());
    body(begins_[i] + bytes(position - start), end - position, bytes(position - range.begin));
    position = end;
  }
}

std::byte* Buffer::in_place(const plan::Range& range) const {
  const std::size_t i = part_at(range.begin);
  if (i == ends_.size() || range.end() > ends_[i]) return nullptr;
  return begins_[i] + bytes(range.begin - (i == 0 ? 0 : ends_[i - 1]));
}

void Buffer::pack(const plan::Range& range, std::byte* packed) const {
  for_each_piece(range, [&](const std::byte* data, Index count, Index at) {
    std::memcpy(packed + at, data, static_cast<std::size_t>(bytes(count)));
  });
}

void Buffer::unpack(const plan::Range& range, const std::byte* packed) const {
  for_each_piece(range, [&](std::byte* data, Index count, Index at) {
    std::memcpy(data, packed + at, static_cast<std::size_t>(bytes(count)));
  });
}

void Buffer::combine(const plan::Range& range, const std::byte* packed, Reduction reduction) const {
  for_each_piece(range, [&](std::byte* data, Index count, Index at) {
    switch (element_) {
      case Element::f32:
        return combine_array<float>(data, packed + at, count, reduction);
      case Element::f64:
        return combine_array<double>(data, packed + at, count, reduction);
      case Element::i32:
        return combine_array<std::int32_t>(data, packed + at, count, reduction);
      case Element::i64:
        return combine_array<std::int64_t>(data, packed + at, count, reduction);
      case Element::byte:
        check(false, "Buffer", "bytes cannot be summed");
    }
  });
}

}  // namespace tessera::dist
