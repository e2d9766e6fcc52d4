#pragma once

#include <string>

/// Quantities as people write them: 2M, 450GB/s, 16GiB, 989 TFLOP/s, 1Gbit/s, 20us.
namespace tessera::plan {

enum class Unit { count, bytes, bytes_per_s, flops, seconds };

/// A quantity in its base unit (1, byte, byte/s, FLOP/s, s), at least 0.
///
/// A number, a prefix (k M G T P E; Ki Mi Gi Ti; B, a billion, of counts only) and a unit, each of the last
/// two optional. Bits (bit/s, b/s, bps) become bytes. Case matters where it changes the meaning: b and B, m
/// and M.
/// @throws std::invalid_argument "[name] got ..., expected ..." for anything else, and for what is negative,
/// no number, infinite, or beyond 1e24, past which products of quantities could overflow.
double parse_quantity(const std::string& name, const std::string& text, Unit unit);

/// The check of parse_quantity for a number that came as one. @return value.
double check_quantity(const std::string& name, double value);

/// "2.05 M", "38.4 GB", "450 GB/s", "989 TFLOP/s", "1.04 ms": four digits, decimal prefixes.
std::string quantity_text(double value, Unit unit);

}  // namespace tessera::plan
