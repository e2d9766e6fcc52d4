#pragma once

#include <cstdint>
#include <type_traits>

#include "tensor/check.h"
#include "tensor/shape.h"

namespace tessera {

enum class DType : std::uint8_t { f32, f64, i32 };

constexpr const char* to_string(DType dtype) {
  return dtype == DType::f32 ? "f32" : dtype == DType::f64 ? "f64" : "i32";
}
constexpr Index bytes_of(DType dtype) { return dtype == DType::f64 ? 8 : 4; }

template <class T>
constexpr DType dtype_of() {
  static_assert(std::is_same_v<T, float> || std::is_same_v<T, double> || std::is_same_v<T, std::int32_t>);
  return std::is_same_v<T, float> ? DType::f32 : std::is_same_v<T, double> ? DType::f64 : DType::i32;
}

/// Calls body.operator()<float>() or <double>(): the one place where a run-time dtype becomes a type.
/// @throws std::invalid_argument for i32, which no arithmetic op takes.
template <class Body>
decltype(auto) dispatch(DType dtype, Body&& body) {
  check(dtype != DType::i32, "dispatch", "an op on f32 or f64 got i32");
  return dtype == DType::f32 ? body.template operator()<float>() : body.template operator()<double>();
}

}  // namespace tessera
