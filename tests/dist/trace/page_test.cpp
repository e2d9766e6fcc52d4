#include "dist/trace/page.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace tessera::dist {
namespace {

using nlohmann::json;

int count(const std::string& text, const std::string& what) {
  int times = 0;
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += what.size()) ++times;
  return times;
}

std::string data_of(const std::string& page) {
  const std::string begin = R"(<script type="application/json" id="data">)";
  const std::size_t at = page.find(begin) + begin.size();
  return page.substr(at, page.find("</script>", at) - at);
}

const std::vector<std::string> kTimeline = {"{\"ph\":\"X\",\"pid\":0}\n{\"ph\":\"X\",\"pid\":0}\n", "",
                                            "{\"ph\":\"X\",\"pid\":2}\n"};

TEST(ReportPage, CarriesItsNumbers) {
  const json run = {{"steps", {1, 2.5, 3}}}, layout = {{"parameters", json::array()}};
  const json data = json::parse(data_of(report_page("a run", run, layout, kTimeline)));
  EXPECT_EQ(data["run"], run);
  EXPECT_EQ(data["layout"], layout);
  EXPECT_EQ(data["trace"]["traceEvents"].size(), 3U);
  EXPECT_EQ(data["trace"]["traceEvents"][2]["pid"], 2);
}

TEST(ReportPage, MakesNoMarkupOfNames) {
  const std::string evil = "</script><script>alert(1)</script><!-- {{page.css}} & \xff";
  const std::string page = report_page(evil, {{"node", evil}}, json::object(), {});
  const std::string plain = report_page("", {{"node", ""}}, json::object(), {});
  for (const char* markup : {"<script", "</script", "<!--"})
    EXPECT_EQ(count(page, markup), count(plain, markup));
  const std::string node = json::parse(data_of(page))["run"]["node"];
  EXPECT_EQ(node.substr(0, evil.size() - 1), evil.substr(0, evil.size() - 1));  // the last byte is no UTF-8
}

TEST(ReportPage, NeedsNothingElse) {
  const std::string page = report_page("a run", json::object(), json::object(), {});
  EXPECT_EQ(count(page, "{{"), 0);
  EXPECT_EQ(count(page, "src="), 0);
  EXPECT_EQ(count(page, "@import"), 0);
  EXPECT_EQ(count(page, "https://"), 0);
}

}  // namespace
}  // namespace tessera::dist
