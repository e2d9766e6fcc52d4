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

Buffer::Buffer(const std::vector<Tensor>& tensors) {
  if (!tensors.empty() && tensors[0].defined()) element_ = element_of(tensors[0].dtype());
  for (const Tensor& tensor : tensors) {
    check(tensor.defined(), "Buffer", "an undefined tensor");
    check(tensor.dtype() == tensors[0].dtype(), "Buffer", "tensors of ",
          tessera::to_string(tensors[0].dtype()), " and ", tessera::to_string(tensor.dtype()));
    append(data_of(tensor), tensor.numel());
    storages_.push_back(tensor.storage());
  }
}

Buffer Buffer::arranged(const std::vector<plan::Range>& ranges) const {
  Buffer result;
  result.element_ = element_;
  result.storages_ = storages_;
  for (const plan::Range& range : ranges)
    for_each_piece(range, [&](std::byte* data, Index count, Index) { result.append(data, count); });
  return result;
}

void Buffer::append(const Buffer& other) {
  check(element_ == other.element_, "Buffer", "elements of ", to_string(element_), " and ",
        to_string(other.element_));
  for (std::size_t i = 0; i < other.parts_.size(); ++i)
    append(other.parts_[i].data, other.parts_[i].end - other.begin_of(i));
  storages_.insert(storages_.end(), other.storages_.begin(), other.storages_.end());
}

Buffer Buffer::scratch(Element element, Index count) {
  Buffer result;
  result.element_ = element;
  const auto& storage =
      result.storages_.emplace_back(std::make_shared<Storage>(result.bytes(count), Category::communication));
  result.append(storage->data(), count);
  return result;
}

void Buffer::append(void* data, Index count) {
  if (count == 0) return;
  const std::size_t last = parts_.size() - 1;  // a part may go on where it ends in memory
  if (!parts_.empty() && parts_[last].data + bytes(parts_[last].end - begin_of(last)) == data)
    parts_[last].end += count;
  else
    parts_.push_back({static_cast<std::byte*>(data), this->count() + count});
}

std::size_t Buffer::part_at(Index position) const {
  return static_cast<std::size_t>(std::ranges::upper_bound(parts_, position, {}, &Part::end) -
                                  parts_.begin());
}

template <class Body>
void Buffer::for_each_piece(const plan::Range& range, Body&& body) const {
  Index position = range.begin;
  for (std::size_t i = part_at(position); position < range.end(); ++i) {
    const Index start = begin_of(i), end = std::min(parts_[i].end, range.end());
    body(parts_[i].data + bytes(position - start), end - position, bytes(position - range.begin));
    position = end;
  }
}

std::byte* Buffer::in_place(const plan::Range& range) const {
  const std::size_t i = part_at(range.begin);
  if (i == parts_.size() || range.end() > parts_[i].end) return nullptr;
  return parts_[i].data + bytes(range.begin - begin_of(i));
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

void Buffer::copy(const plan::Range& source, const plan::Range& target) const {
  for_each_piece(source, [&](const std::byte* data, Index count, Index at) {
    unpack({target.begin + at / bytes(1), count}, data);
  });
}

void Buffer::copy_to(const Buffer& target) const {
  for_each_piece({0, count()}, [&](const std::byte* data, Index count, Index at) {
    target.unpack({at / bytes(1), count}, data);
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
