#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

/// What a timeline must be for its viewers, checked on the file's JSON. Source: the Trace Event Format.
namespace tessera::dist {

struct TimelineFacts {
  std::map<std::string, int> slices;  ///< by category
  int arrows = 0;                     ///< from one process to another
};

inline std::int64_t nanoseconds(const nlohmann::json& microseconds) {
  return std::llround(microseconds.get<double>() * 1e3);
}

/// Slices of one thread: each lies inside another or beside it.
inline void expect_nested(std::vector<std::pair<std::int64_t, std::int64_t>> slices) {
  std::sort(slices.begin(), slices.end(), [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first < b.first : a.second > b.second;
  });
  std::vector<std::int64_t> open;
  for (const auto& [begin, end] : slices) {
    while (!open.empty() && open.back() <= begin) open.pop_back();
    if (!open.empty()) {
      ASSERT_LE(end, open.back());
    }
    open.push_back(end);
  }
}

/// Fields and types of every event, nesting, and two ends to every arrow, the later one where it points to.
inline TimelineFacts check_timeline(const nlohmann::json& file, int ranks) {
  TimelineFacts facts;
  std::map<std::pair<int, int>, std::vector<std::pair<std::int64_t, std::int64_t>>> threads;
  std::map<std::string, std::vector<nlohmann::json>> arrows;
  std::set<std::pair<int, std::string>> named;
  for (const nlohmann::json& event : file.at("traceEvents")) {
    const std::string phase = event.at("ph"), name = event.at("name");
    const int process = event.at("pid"), thread = event.at("tid");
    EXPECT_GE(process, 0);
    EXPECT_LT(process, ranks);
    EXPECT_FALSE(name.empty());
    if (phase == "M") {
      EXPECT_TRUE(event.at("args").is_object());
      named.insert({process, name});
      continue;
    }
    EXPECT_TRUE(event.at("ts").is_number()) << event;
    EXPECT_TRUE(event.at("cat").is_string()) << event;
    if (phase == "X") {
      EXPECT_GE(event.at("dur"), 0) << event;
      const std::int64_t begin = nanoseconds(event["ts"]);
      threads[{process, thread}].emplace_back(begin, begin + nanoseconds(event["dur"]));
      ++facts.slices[event["cat"]];
    } else {
      EXPECT_TRUE(phase == "s" || (phase == "f" && event.at("bp") == "e")) << event;
      arrows[event.at("id")].push_back(event);
    }
  }
  for (const auto& [thread, slices] : threads) expect_nested(slices);
  for (int rank = 0; rank < ranks; ++rank) EXPECT_TRUE(named.contains({rank, "process_name"})) << rank;
  for (auto& [id, ends] : arrows) {
    EXPECT_EQ(ends.size(), 2U) << id;
    if (ends.size() != 2) continue;
    if (ends[0]["ph"] != "s") std::swap(ends[0], ends[1]);
    EXPECT_EQ(ends[0]["ph"], "s");
    EXPECT_EQ(ends[1]["ph"], "f");
    EXPECT_NE(ends[0]["pid"], ends[1]["pid"]);
    EXPECT_LE(ends[0]["ts"], ends[1]["ts"]) << ends[0] << ends[1];
    ++facts.arrows;
  }
  return facts;
}

}  // namespace tessera::dist
