#include <array>
#include <cstddef>

#include "dist/trace/page_parts_internal.h"

// No compiler ever parses these files: the assembler copies them, found in the folder that CMakeLists.txt
// names.
asm(R"(
    .macro embed symbol, file
    .globl tessera_\symbol\()_begin
    .globl tessera_\symbol\()_end
tessera_\symbol\()_begin:
    .incbin "\file"
tessera_\symbol\()_end:
    .endm

    .pushsection .rodata
    embed page_html, page.html
    embed page_css, page.css
    embed chart_js, chart.js
    embed timeline_js, timeline.js
    embed sections_js, sections.js
    embed run_js, run.js
    .popsection
)");

extern "C" const char tessera_page_html_begin[], tessera_page_html_end[], tessera_page_css_begin[],
    tessera_page_css_end[], tessera_chart_js_begin[], tessera_chart_js_end[], tessera_timeline_js_begin[],
    tessera_timeline_js_end[], tessera_sections_js_begin[], tessera_sections_js_end[], tessera_run_js_begin[],
    tessera_run_js_end[];

namespace tessera::dist {
namespace {

struct Part {
  std::string_view name;
  const char *begin, *end;
};
const std::array kParts = {Part{"page.html", tessera_page_html_begin, tessera_page_html_end},
                           Part{"page.css", tessera_page_css_begin, tessera_page_css_end},
                           Part{"chart.js", tessera_chart_js_begin, tessera_chart_js_end},
                           Part{"timeline.js", tessera_timeline_js_begin, tessera_timeline_js_end},
                           Part{"sections.js", tessera_sections_js_begin, tessera_sections_js_end},
                           Part{"run.js", tessera_run_js_begin, tessera_run_js_end}};

}  // namespace

std::string_view page_part(std::string_view name) {
  for (const Part& part : kParts) {
    if (part.name == name) return {part.begin, static_cast<std::size_t>(part.end - part.begin)};
  }
  return {};
}

}  // namespace tessera::dist
