#pragma once

#include <vector>

#include "dist/comm/comm.h"
#include "dist/plan/rounds.h"

/// Test data whose sums are exact in every type, and show a rank that is counted twice or left out.
namespace tessera::dist {

inline const std::vector<Index> kCounts = {0, 1, 2, 3, 7, 1000, 4097};

/// Unique per rank and position. Sums of up to two of each rank differ, being numbers in base 3; that of 8
/// ranks is below 2^24.
template <class T>
T value(int rank, Index position) {
  Index power = 4099;
  for (int i = 0; i < rank; ++i) power *= 3;
  return static_cast<T>(power + position);
}

template <class T>
std::vector<T> values(int rank, Index count) {
  std::vector<T> result;
  for (Index i = 0; i < count; ++i) result.push_back(value<T>(rank, i));
  return result;
}

template <class T>
T sum_of_values(int ranks, Index position) {
  T sum = 0;
  for (int rank = 0; rank < ranks; ++rank) sum += value<T>(rank, position);
  return sum;
}

template <class T>
std::vector<T> sums_of_values(int ranks, Index count) {
  std::vector<T> result;
  for (Index i = 0; i < count; ++i) result.push_back(sum_of_values<T>(ranks, i));
  return result;
}

}  // namespace tessera::dist
