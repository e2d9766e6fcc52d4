#include "nn/json_internal.h"

#include <algorithm>
#include <limits>
#include <set>
#include <string_view>
#include <vector>

#include "tensor/check.h"

namespace tessera::nn {
namespace {

using nlohmann::json;
constexpr std::size_t kShown = 60;  // characters

/// Watches the parser go down: the library itself limits no depth and keeps the last of two equal names.
class Guard {
 public:
  Guard(const char* op, std::string where, int max_depth)
      : op_(op), where_(std::move(where)), names_(static_cast<std::size_t>(max_depth) + 1) {}

  bool operator()(int depth, json::parse_event_t event, const json& value) {
    const auto level = static_cast<std::size_t>(depth);
    if (event == json::parse_event_t::object_start || event == json::parse_event_t::array_start) {
      check(level + 1 < names_.size(), op_, where_, "is nested deeper than ", names_.size() - 1, " levels");
      names_[level + 1].clear();
    } else if (event == json::parse_event_t::key) {
      const bool is_new = names_[level].insert(value.get_ref<const std::string&>()).second;
      if (!is_new) check(false, op_, where_, "has the name ", shown(value), " twice");
    }
    return true;
  }

 private:
  const char* op_;
  std::string where_;
  std::vector<std::set<std::string>> names_;  // of the open objects, by level
};

}  // namespace

json parse_json(const char* op, const std::string& source, const std::string& text, Index offset,
                int max_depth) {
  const auto fail = [&](std::size_t at) {
    const std::size_t begin = at - std::min(at, kShown / 4);
    check(false, op, source, ": no valid JSON at offset ", offset + static_cast<Index>(at), ", after ",
          shown(text.substr(begin, at - begin)));
  };
  // The library takes a zero byte for the end and would ignore what follows.
  if (const std::size_t zero = text.find('\0'); zero != std::string::npos) fail(zero);
  try {
    return json::parse(text,
                       Guard(op, source + ": the JSON at offset " + std::to_string(offset) + " ", max_depth));
  } catch (const json::parse_error& error) {
    fail(std::min(text.size(), std::max<std::size_t>(error.byte, 1) - 1));
  } catch (const json::out_of_range&) {
    check(false, op, source, ": the JSON at offset ", offset, " holds a number beyond the range of double");
  }
  return {};
}

std::string shown(const json& value) {
  const std::string text = value.dump(-1, ' ', true, json::error_handler_t::replace);
  return text.size() <= kShown ? text : text.substr(0, kShown) + "...";
}

bool is_index(const json& value) {
  constexpr auto kLargest = static_cast<std::uint64_t>(std::numeric_limits<Index>::max());
  if (value.is_number_unsigned()) return value.get<std::uint64_t>() <= kLargest;
  return value.is_number_integer() && value.get<Index>() >= 0;
}

}  // namespace tessera::nn
