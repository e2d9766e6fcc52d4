#include "tensor/random.h"

#include <cmath>
#include <numbers>

namespace tessera {
namespace {

std::uint64_t product(std::uint32_t a, std::uint32_t b) { return std::uint64_t{a} * b; }
std::uint32_t high(std::uint64_t x) { return static_cast<std::uint32_t>(x >> 32); }
std::uint32_t low(std::uint64_t x) { return static_cast<std::uint32_t>(x); }
std::uint64_t join(std::uint32_t high, std::uint32_t low) { return std::uint64_t{high} << 32 | low; }

/// FNV-1a, then a final mix, so that names that differ in one letter give unrelated keys.
std::uint64_t hash(std::uint64_t seed, std::string_view name) {
  std::uint64_t h = 0xcbf29ce484222325U ^ (seed * 0x9e3779b97f4a7c15U);
  for (const char c : name) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  h = (h ^ (h >> 30)) * 0xbf58476d1ce4e5b9U;
  h = (h ^ (h >> 27)) * 0x94d049bb133111ebU;
  return h ^ (h >> 31);
}

/// The upper 53 of 64 bits as a fraction.
double fraction(std::uint64_t bits) { return static_cast<double>(bits >> 11) * 0x1p-53; }

}  // namespace

std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter, std::array<std::uint32_t, 2> key) {
  auto [c0, c1, c2, c3] = counter;
  auto [k0, k1] = key;
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p0 = product(0xD2511F53U, c0), p1 = product(0xCD9E8D57U, c2);
    c0 = high(p1) ^ c1 ^ k0;
    c2 = high(p0) ^ c3 ^ k1;
    c1 = low(p1);
    c3 = low(p0);
    k0 += 0x9E3779B9U;
    k1 += 0xBB67AE85U;
  }
  return {c0, c1, c2, c3};
}

RandomStream::RandomStream(std::uint64_t seed, std::string_view name, std::uint64_t step) : step_(step) {
  const std::uint64_t h = hash(seed, name);
  key_ = {low(h), high(h)};
}

std::array<std::uint32_t, 4> RandomStream::block(Index quad) const {
  const auto q = static_cast<std::uint64_t>(quad);
  return philox({low(q), high(q), low(step_), high(step_)}, key_);
}

double RandomStream::uniform(Index i) const {
  const auto b = block(i / 2);
  return i % 2 == 0 ? fraction(join(b[0], b[1])) : fraction(join(b[2], b[3]));
}

Index RandomStream::below(Index i, Index n) const {
  const auto b = block(i / 2);
  const std::uint64_t bits = i % 2 == 0 ? join(b[0], b[1]) : join(b[2], b[3]);
  __extension__ using Wide = unsigned __int128;
  return static_cast<Index>(static_cast<Wide>(bits) * static_cast<Wide>(n) >> 64);
}

std::array<double, 2> RandomStream::normal_pair(Index pair) const {
  const auto b = block(pair);
  const double radius = std::sqrt(-2 * std::log1p(-fraction(join(b[0], b[1]))));
  const double angle = 2 * std::numbers::pi * fraction(join(b[2], b[3]));
  return {radius * std::cos(angle), radius * std::sin(angle)};
}

}  // namespace tessera
