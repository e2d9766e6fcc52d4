#include "dist/trace/page.h"

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "dist/trace/page_parts_internal.h"

namespace tessera::dist {
namespace {

using nlohmann::json;

std::string replaced(std::string_view text, char what, std::string_view by) {
  std::string result;
  for (const char c : text) c == what ? void(result += by) : void(result += c);
  return result;
}

std::string escaped(std::string_view text) {
  return replaced(replaced(replaced(text, '&', "&amp;"), '<', "&lt;"), '>', "&gt;");
}

/// JSON has "<" within strings alone, where it may be written so; nothing in it can then end its element.
std::string harmless(const std::string& text) { return replaced(text, '<', "\\u003c"); }

/// Lines of events as one array.
std::string array_of(const std::vector<std::string>& timeline) {
  std::string text = "[";
  for (const std::string& events : timeline) {
    for (std::size_t begin = 0, end; (end = events.find('\n', begin)) != std::string::npos; begin = end + 1) {
      if (text.size() > 1) text += ",\n";
      text += std::string_view(events).substr(begin, end - begin);
    }
  }
  return text + "]";
}

std::string dumped(const json& j) { return j.dump(-1, ' ', false, json::error_handler_t::replace); }

}  // namespace

std::string report_page(std::string_view title, const json& run, const json& layout,
                        const std::vector<std::string>& timeline) {
  const std::string data = harmless("{\"run\":" + dumped(run) + ",\n\"layout\":" + dumped(layout) +
                                    ",\n\"trace\":{\"traceEvents\":" + array_of(timeline) + "}}");
  // One pass over the frame: what is put in is not looked at again.
  const std::string_view frame = page_part("page.html");
  std::string page;
  std::size_t done = 0;
  for (std::size_t begin; (begin = frame.find("{{", done)) != std::string_view::npos;) {
    const std::size_t end = frame.find("}}", begin);
    const std::string_view name = frame.substr(begin + 2, end - begin - 2);
    page += frame.substr(done, begin - done);
    if (name == "title")
      page += escaped(title);
    else if (name == "data")
      page += data;
    else if (const std::string_view part = page_part(name); !part.empty())
      page += part;
    else
      throw std::logic_error("[report_page] page.html asks for " + std::string(name) +
                             ", which is not there");
    done = end + 2;
  }
  page += frame.substr(done);
  return page;
}

}  // namespace tessera::dist
