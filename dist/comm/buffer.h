#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

#include "dist/plan/rounds.h"
#include "tensor/tensor.h"

namespace tessera::dist {

/// What messages are made of. Bytes can be copied, not summed.
enum class Element : std::uint8_t { byte, f32, f64, i32, i64 };
Index bytes_of(Element element);
const char* to_string(Element element);

template <class T>
constexpr Element element_of() {
  if constexpr (std::is_same_v<T, float>) return Element::f32;
  if constexpr (std::is_same_v<T, double>) return Element::f64;
  if constexpr (std::is_same_v<T, std::int32_t>) return Element::i32;
  if constexpr (std::is_same_v<T, std::int64_t>) return Element::i64;
  static_assert(std::is_arithmetic_v<T> || std::is_same_v<T, std::byte>);
  return Element::byte;
}

/// What the rounds' Combine::add does with a received element. max is NaN if any of its numbers is.
enum class Reduction : std::uint8_t { sum, max };

/// The memory a collective works on: a list of parts of one element type, taken as one long array. Holds its
/// tensors' storages, which must not be released meanwhile; spans are the caller's to keep until the work is
/// done.
class Buffer {
 public:
  Buffer() = default;
  /// @throws std::invalid_argument for an undefined tensor, or tensors of different dtypes.
  Buffer(const Tensor& tensor) : Buffer(std::vector<Tensor>{tensor}) {}
  Buffer(const std::vector<Tensor>& tensors);
  template <class T>
  Buffer(std::span<T> values) : element_(element_of<T>()) {
    append(values.data(), static_cast<Index>(values.size_bytes()) / bytes_of(element_));
  }
  template <class T>
  requires(!std::is_same_v<T, Tensor>) Buffer(std::vector<T>& values) : Buffer(std::span<T>(values)) {}

  Element element() const { return element_; }
  Index count() const { return parts_.empty() ? 0 : parts_.back().end; }
  Index bytes(Index count) const { return count * bytes_of(element_); }

  /// These ranges of it, in this order.
  Buffer arranged(const std::vector<plan::Range>& ranges) const;
  /// Puts `other` behind it. @throws std::invalid_argument for another element type.
  void append(const Buffer& other);
  /// Uninitialised memory of Category::communication, which lives as long as a buffer with it in it.
  static Buffer scratch(Element element, Index count);

  /// Where `range` begins, if it lies in one part; else null.
  std::byte* in_place(const plan::Range& range) const;
  /// Copies `range` to, or from, packed memory.
  void pack(const plan::Range& range, std::byte* packed) const;
  void unpack(const plan::Range& range, const std::byte* packed) const;
  /// Copies `source` to `target`, of its size and disjoint from it.
  void copy(const plan::Range& source, const plan::Range& target) const;
  /// Copies all of it to `target`, of its count and element type.
  void copy_to(const Buffer& target) const;
  /// Combines packed elements into `range`, in place.
  void combine(const plan::Range& range, const std::byte* packed, Reduction reduction) const;

 private:
  struct Part {
    std::byte* data;
    Index end;  // in the long array
  };

  void append(void* data, Index count);
  Index begin_of(std::size_t part) const { return part == 0 ? 0 : parts_[part - 1].end; }
  std::size_t part_at(Index position) const;
  template <class Body>
  void for_each_piece(const plan::Range& range, Body&& body) const;

  Element element_ = Element::byte;
  std::vector<Part> parts_;                         // none is empty
  std::vector<std::shared_ptr<Storage>> storages_;  // of tensors and scratch: held
};

}  // namespace tessera::dist
