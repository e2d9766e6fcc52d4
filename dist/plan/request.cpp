#include "dist/plan/request.h"

#include <algorithm>
#include <cmath>

#include "dist/plan/require.h"

namespace tessera::plan {
namespace {

using nlohmann::json;

constexpr std::size_t kShownLength = 60;
constexpr double kLargestWhole = 1e15;  // doubles hold every whole number up to it

}  // namespace

std::string shown(const json& value) {
  std::string text = value.dump(-1, ' ', true, json::error_handler_t::replace);
  if (text.size() > kShownLength) text = text.substr(0, kShownLength) + "...";
  return text;
}

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

void require_known(const std::string& what, const std::string& name, const std::vector<std::string>& known) {
  require(std::ranges::find(known, name) != known.end(), what.c_str(), "got ", shown(name),
          ", expected one of ", listed(known));
}

Request::Request(const json& object, std::string what) : object_(object), what_(std::move(what)) {
  require(object.is_object(), what_.c_str(), "got ", shown(object), ", expected an object");
}

const json& Request::any(const char* field) {
  static const json kNull;
  asked_.insert(field);
  const auto found = object_.find(field);
  return found == object_.end() ? kNull : *found;
}

std::optional<double> Request::read(const char* field, Unit unit) {
  const json& value = any(field);
  if (value.is_null()) return std::nullopt;
  if (value.is_string()) return parse_quantity(field, value.get<std::string>(), unit);
  require(value.is_number(), field, "got ", shown(value), ", expected a number");
  return check_quantity(field, value.get<double>());
}

std::optional<double> Request::number(const char* field, Unit unit) {
  const std::optional<double> value = read(field, unit);
  require(!value || *value > 0, field, "got ", value.value_or(0), ", expected more than 0");
  require(!value || *value >= 1e-24, field, "got ", value.value_or(0), ", expected at least 1e-24");
  return value;
}

double Request::amount(const char* field, Unit unit, double absent) {
  return read(field, unit).value_or(absent);
}

std::optional<double> Request::whole(const char* field, double least) {
  const std::optional<double> value = read(field, Unit::count);
  const bool ok = !value || (*value >= least && *value <= kLargestWhole && *value == std::floor(*value));
  require(ok, field, "got ", value.value_or(0), ", expected a whole number from ", least, " to 1e15");
  return value;
}

double Request::required(const char* field, Unit unit) {
  const std::optional<double> value = number(field, unit);
  require(value.has_value(), field, "is missing from ", what_);
  return *value;
}

std::string Request::word(const char* field, const std::string& absent) {
  const json& value = any(field);
  if (value.is_null()) return absent;
  require(value.is_string(), field, "got ", shown(value), ", expected a text");
  return value.get<std::string>();
}

std::string Request::choice(const char* field, const std::vector<std::string>& known) {
  const std::string name = word(field, known.front());
  require_known(field, name, known);
  return name;
}

bool Request::flag(const char* field, bool absent) {
  const json& value = any(field);
  if (value.is_null()) return absent;
  require(value.is_boolean(), field, "got ", shown(value), ", expected true or false");
  return value.get<bool>();
}

void Request::done() const {
  for (const auto& [field, value] : object_.items())
    require(asked_.contains(field), what_.c_str(), "has a field ", shown(field), ", expected only ",
            listed({asked_.begin(), asked_.end()}));
}

}  // namespace tessera::plan
