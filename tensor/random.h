#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "tensor/shape.h"

namespace tessera {

/// Philox4x32-10: 128 random bits as a pure function of a 128-bit counter and a 64-bit key.
/// Source: Salmon et al. 2011, doi:10.1145/2063384.2063405.
std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter, std::array<std::uint32_t, 2> key);

/// A sequence of random numbers that belongs to a named tensor at a step: number i is a pure function of
/// (seed, name, step, i), so whoever holds element i draws the same, in any order, on any rank.
class RandomStream {
 public:
  RandomStream(std::uint64_t seed, std::string_view name, std::uint64_t step = 0);

  /// 32 uniform bits.
  std::uint32_t bits(Index i) const { return block(i / 4)[static_cast<std::size_t>(i % 4)]; }
  /// The four of them with i / 4 = quad.
  std::array<std::uint32_t, 4> block(Index quad) const;
  /// In [0, 1), 53 bits. Numbers of different kinds (bits, uniform, normal) at the same i are not
  /// independent.
  double uniform(Index i) const;
  /// In [0, n), n > 0, without bias beyond 2^-64 * n.
  Index below(Index i, Index n) const;
  /// Standard normal, by Box and Muller in double, element by element.
  double normal(Index i) const { return normal_pair(i / 2)[static_cast<std::size_t>(i % 2)]; }
  /// Numbers 2 pair and 2 pair + 1, for the price of one.
  std::array<double, 2> normal_pair(Index pair) const;

 private:
  std::array<std::uint32_t, 2> key_;
  std::uint64_t step_;
};

}  // namespace tessera
