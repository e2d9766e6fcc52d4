#pragma once

#include <sstream>
#include <stdexcept>
#include <string>

namespace tessera {

/// Throws std::invalid_argument "[op] parts..." unless `ok`. For what a caller can get wrong; give both
/// values.
template <class... Parts>
void check(bool ok, const char* op, const Parts&... parts) {
  if (ok) return;
  std::ostringstream text;
  text << '[' << op << "] ";
  (text << ... << parts);
  throw std::invalid_argument(text.str());
}

}  // namespace tessera
