#pragma once

#include <stdexcept>
#include <string>

namespace tessera::dist {

/// What `call` says when it throws std::invalid_argument.
template <class Call>
std::string reason(Call call) {
  try {
    call();
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "nothing";
}

}  // namespace tessera::dist
