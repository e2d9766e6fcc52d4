#pragma once

#include <sstream>
#include <stdexcept>

namespace tessera::plan {

/// Throws std::invalid_argument "[op] parts..." unless `ok`. The twin of tensor/check.h, since plan depends
/// on nothing; its own name keeps calls unambiguous where both are visible.
template <class... Parts>
void require(bool ok, const char* op, const Parts&... parts) {
  if (ok) return;
  std::ostringstream text;
  text << '[' << op << "] ";
  (text << ... << parts);
  throw std::invalid_argument(text.str());
}

}  // namespace tessera::plan
