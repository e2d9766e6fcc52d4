#pragma once

#include <iterator>
#include <string>

#include "tensor/check.h"

namespace tessera::nn {

/// A value of an enum and what flags and files call it.
template <class Value>
struct Named {
  const char* name;
  Value value;
};

template <class Value, std::size_t N>
const char* name_of(const Named<Value> (&table)[N], Value value) {
  for (const auto& entry : table) {
    if (entry.value == value) return entry.name;
  }
  return "?";
}

/// @throws std::invalid_argument "[what] got "x", expected a|b|c".
template <class Value, std::size_t N>
Value value_of(const char* what, const Named<Value> (&table)[N], const std::string& name) {
  std::string known;
  for (const auto& entry : table) {
    if (entry.name == name) return entry.value;
    known += (known.empty() ? "" : "|") + std::string(entry.name);
  }
  check(false, what, "got \"", name, "\", expected ", known);
  return table[0].value;
}

}  // namespace tessera::nn
