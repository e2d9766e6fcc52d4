#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

/// A training run's report as one page for browsers, that needs nothing else: neither network nor other
/// files.
namespace tessera::dist {

/// What the page shows. Its parts are the files of dist/trace/page, which read:
///   run      what train --json writes (DESIGN.md, section 8)
///   layout   {"parameters": [{"name", "module", "shape", "uses", "owns", "placement"}]}
///   timeline one text per rank, with an event of the Trace Event Format on each line (chrome_trace.h)
/// All of them may hold any text whatsoever: none of it becomes markup.
std::string report_page(std::string_view title, const nlohmann::json& run, const nlohmann::json& layout,
                        const std::vector<std::string>& timeline);

}  // namespace tessera::dist
