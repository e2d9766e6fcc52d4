#include "dist/plan/units.h"

#include <array>
#include <charconv>
#include <cmath>
#include <string_view>

#include "dist/plan/require.h"

namespace tessera::plan {
namespace {

constexpr double kLargest = 1e24;

struct Factor {
  std::string_view name;
  double value;
};

constexpr Factor kPrefixes[] = {{"Ki", 0x1p10}, {"Mi", 0x1p20}, {"Gi", 0x1p30}, {"Ti", 0x1p40}, {"k", 1e3},
                                {"K", 1e3},     {"M", 1e6},     {"G", 1e9},     {"T", 1e12},    {"P", 1e15},
                                {"E", 1e18},    {"B", 1e9},     {"", 1}};
constexpr Factor kNone[] = {{"", 1}};
constexpr Factor kBytes[] = {{"B", 1}, {"", 1}};
constexpr Factor kRates[] = {{"B/s", 1}, {"bit/s", 0.125}, {"b/s", 0.125}, {"bps", 0.125}, {"", 1}};
constexpr Factor kFlops[] = {{"FLOP/s", 1}, {"FLOPS", 1}, {"FLOPs", 1}, {"flop/s", 1}, {"", 1}};
// Prefixes below one belong to times alone, and are part of their units here.
constexpr Factor kSeconds[] = {{"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}, {"min", 60},
                               {"h", 3600},  {"s", 1},     {"", 1}};

struct Kind {
  const Factor* first;
  const Factor* last;
  const char* expected;
};

template <std::size_t N>
constexpr Kind kind(const Factor (&units)[N], const char* expected) {
  return {units, units + N, expected};
}

Kind kind_of(Unit unit) {
  switch (unit) {
    case Unit::count:
      return kind(kNone, "a number like 512, 2M or 70B");
    case Unit::bytes:
      return kind(kBytes, "bytes like 80GB or 16GiB");
    case Unit::bytes_per_s:
      return kind(kRates, "a rate like 450GB/s or 400Gbit/s");
    case Unit::flops:
      return kind(kFlops, "a rate like 989TFLOP/s");
    case Unit::seconds:
      return kind(kSeconds, "a time like 20us or 1.5s");
  }
  return {};
}

/// The factor that `rest`, all that follows the number, stands for; 0 if it stands for none.
double factor_of(std::string_view rest, Unit unit) {
  const Kind units = kind_of(unit);
  for (const Factor& prefix : kPrefixes) {
    if (!rest.starts_with(prefix.name)) continue;
    if (unit == Unit::seconds && !prefix.name.empty()) continue;
    if (unit != Unit::count && prefix.name == "B") continue;
    for (const Factor* of = units.first; of != units.last; ++of)
      if (rest.substr(prefix.name.size()) == of->name) return prefix.value * of->value;
  }
  return 0;
}

std::string four_digits(double value) {
  std::array<char, 32> text{};
  const auto end =
      std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::general, 4);
  return {text.data(), end.ptr};
}

}  // namespace

double check_quantity(const std::string& name, double value) {
  require(std::isfinite(value), name.c_str(), "got ", value, ", expected a finite number");
  require(value >= 0, name.c_str(), "got ", value, ", expected no negative number");
  require(value <= kLargest, name.c_str(), "got ", value, ", expected at most ", kLargest);
  return value;
}

double parse_quantity(const std::string& name, const std::string& text, Unit unit) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  std::string_view rest(end, static_cast<std::size_t>(text.data() + text.size() - end));
  while (rest.starts_with(' ')) rest.remove_prefix(1);
  const double factor = error == std::errc::invalid_argument ? 0 : factor_of(rest, unit);
  require(factor > 0, name.c_str(), "got \"", text, "\", expected ", kind_of(unit).expected);
  require(error == std::errc(), name.c_str(), "got \"", text, "\", which is too large or too small");
  return check_quantity(name, value * factor);
}

std::string quantity_text(double value, Unit unit) {
  if (unit == Unit::seconds) {
    if (value != 0 && value < 1e-3) return four_digits(value * 1e6) + " us";
    if (value != 0 && value < 1) return four_digits(value * 1e3) + " ms";
    return value < 2 * 86400 ? four_digits(value) + " s" : four_digits(value / 86400) + " days";
  }
  static constexpr Factor kDecimal[] = {{"P", 1e15}, {"T", 1e12}, {"G", 1e9}, {"M", 1e6}, {"k", 1e3}};
  static constexpr const char* kNames[] = {"", "B", "B/s", "FLOP/s"};
  std::string suffix = kNames[static_cast<int>(unit)];
  // Counts stay whole up to 99999: "850 tokens", "18823 chips".
  const double plain_below = unit == Unit::count ? 1e5 : 1e3;
  if (unit == Unit::count && value >= 1000 && value < plain_below) return std::to_string(std::llround(value));
  for (const Factor& prefix : kDecimal) {
    if (value < prefix.value || value < plain_below) continue;
    const bool billions = unit == Unit::count && prefix.name == "G";
    return four_digits(value / prefix.value) + " " + (billions ? "B" : std::string(prefix.name)) + suffix;
  }
  return four_digits(value) + (suffix.empty() ? "" : " " + suffix);
}

}  // namespace tessera::plan
