#pragma once

#include <string_view>

namespace tessera::dist {

/// A file of dist/trace/page, as it was when this was built; empty if there is none of that name.
std::string_view page_part(std::string_view name);

}  // namespace tessera::dist
