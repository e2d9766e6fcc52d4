#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "dist/plan/units.h"

namespace tessera::plan {

/// One JSON object of a query, which may hold anything. Each field is asked for once, by name; done() refuses
/// what nobody asked for. Numbers may be JSON numbers or texts with units (units.h); null is absent.
///
/// Every refusal is std::invalid_argument "[field] got ..., expected ...".
class Request {
 public:
  /// @throws unless `object` is an object. @param what its name in messages.
  Request(const nlohmann::json& object, std::string what);

  /// A number above 0.
  std::optional<double> number(const char* field, Unit unit = Unit::count);
  double number(const char* field, Unit unit, double absent) { return number(field, unit).value_or(absent); }
  /// A number from 0 on, where none of something makes sense.
  double amount(const char* field, Unit unit, double absent);
  /// A whole number of at least `least`.
  std::optional<double> whole(const char* field, double least = 1);
  double whole_or(const char* field, double absent, double least = 1) {
    return whole(field, least).value_or(absent);
  }
  /// @throws if it is absent.
  double required(const char* field, Unit unit = Unit::count);
  std::string word(const char* field, const std::string& absent);
  /// One of `known`, the first of them if absent.
  std::string choice(const char* field, const std::vector<std::string>& known);
  bool flag(const char* field, bool absent);
  /// Any value; null if absent.
  const nlohmann::json& any(const char* field);

  /// @throws for a field that was not asked for, listing those that were.
  void done() const;

 private:
  std::optional<double> read(const char* field, Unit unit);

  const nlohmann::json& object_;
  std::string what_;
  std::set<std::string> asked_;
};

/// A value for an error message: ASCII, cut to a readable length, whatever it holds.
std::string shown(const nlohmann::json& value);

/// "a, b, c"
std::string listed(const std::vector<std::string>& names);

/// @throws std::invalid_argument "[what] got "name", expected one of ..." unless `known` has it.
void require_known(const std::string& what, const std::string& name, const std::vector<std::string>& known);

}  // namespace tessera::plan
