#include "examples/text.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace tessera {

std::string grouped(Index number) {
  std::string text = std::to_string(number);
  for (auto at = static_cast<Index>(text.size()) - 3; at > (number < 0 ? 1 : 0); at -= 3) {
    text.insert(static_cast<std::size_t>(at), " ");
  }
  return text;
}

std::string bytes_text(Index bytes) {
  const auto size = static_cast<double>(bytes);
  if (size >= 1 << 30) return fmt::format("{:.2f} GiB", size / (1 << 30));
  if (size >= 1 << 20) return fmt::format("{:.1f} MiB", size / (1 << 20));
  return fmt::format("{:.1f} KiB", size / (1 << 10));
}

std::string duration_text(double seconds) {
  const auto s = static_cast<Index>(seconds);
  if (s < 3600) return fmt::format("{}:{:02}", s / 60, s % 60);
  return fmt::format("{}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60);
}

std::string rate_text(double flops) { return fmt::format("{:.1f} GFLOP/s", flops / 1e9); }

std::string peaks_text(const Ledger& ledger) {
  std::string text;
  for (int i = 0; i < kNumCategories; ++i) {
    const auto category = static_cast<Category>(i);
    const Index bytes = ledger.peak_bytes(category);
    if (bytes > 0)
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", to_string(category), bytes_text(bytes));
  }
  return text + "; " + bytes_text(ledger.peak_bytes()) + " at one moment";
}

nlohmann::json peaks_json(const Ledger& ledger) {
  nlohmann::json peaks;
  for (int i = 0; i < kNumCategories; ++i) {
    const auto category = static_cast<Category>(i);
    peaks[to_string(category)] = ledger.peak_bytes(category);
  }
  return peaks;
}

}  // namespace tessera
