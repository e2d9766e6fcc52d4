#include "examples/layout.h"

#include <charconv>
#include <limits>
#include <set>
#include <sstream>

#include "dist/parallel/zero.h"
#include "tensor/check.h"

namespace tessera {
namespace {

constexpr Index kMost = std::numeric_limits<std::int32_t>::max();

Index number(const std::string& word, const std::string& text, Index least, Index most) {
  Index value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  check(error == std::errc() && end == text.data() + text.size() && value >= least && value <= most,
        "--layout", "got \"", word, "\", expected a whole number from ", least, " to ", most);
  return value;
}

void set(Layout& layout, const std::string& word) {
  const std::size_t equals = word.find('=');
  const std::string key = word.substr(0, equals), value = equals == word.npos ? "" : word.substr(equals + 1);
  const auto ranks = [&] { return static_cast<int>(number(word, value, 1, kMost)); };
  if (key == "dp")
    layout.degrees.dp = ranks();
  else if (key == "shard")
    layout.degrees.shard = ranks();
  else if (key == "zero")
    layout.zero = static_cast<int>(number(word, value, 0, dist::kZeroLevels - 1));
  else if (key == "recompute")
    layout.recompute = nn::recompute_from(value);
  else if (key == "microbatches")
    layout.microbatches = number(word, value, 1, kMost);
  else
    check(false, "--layout", "got \"", word, "\", expected dp=, zero=, shard=, recompute= or microbatches=");
}

/// What is to be run with each way of sharding.
struct Variation {
  nn::Recompute recompute;
  Index microbatches;
};
constexpr Variation kVariations[] = {
    {nn::Recompute::none, 1}, {nn::Recompute::full, 3}, {nn::Recompute::selective, 2}};

}  // namespace

Layout parse_layout(const std::string& text) {
  Layout layout;
  std::istringstream words(text);
  std::set<std::string> keys;
  for (std::string word; words >> word;) {
    check(keys.insert(word.substr(0, word.find('='))).second, "--layout", "got \"", text, "\", which says ",
          word.substr(0, word.find('=')), " twice");
    set(layout, word);
  }
  return layout;
}

std::string to_string(const Layout& layout) {
  const dist::Degrees& d = layout.degrees;
  std::string text = "dp=" + std::to_string(d.dp);
  if (layout.zero > 0) text += " zero=" + std::to_string(layout.zero);
  if (d.shard != 0 && d.shard != d.dp) text += " shard=" + std::to_string(d.shard);
  if (layout.recompute != nn::Recompute::none)
    text += std::string(" recompute=") + nn::to_string(layout.recompute);
  if (layout.microbatches != 1) text += " microbatches=" + std::to_string(layout.microbatches);
  return text;
}

std::vector<Layout> all_layouts(int ranks) {
  std::vector<Layout> layouts;
  const auto add = [&](int zero, int shard) {
    for (const auto& [recompute, microbatches] : kVariations)
      layouts.push_back({{.dp = ranks, .shard = shard}, zero, recompute, microbatches});
  };
  add(0, 0);
  for (int zero = 1; zero < dist::kZeroLevels; ++zero)
    for (int shard = 2; shard <= ranks; ++shard)
      if (ranks % shard == 0) add(zero, shard);
  return layouts;
}

}  // namespace tessera
