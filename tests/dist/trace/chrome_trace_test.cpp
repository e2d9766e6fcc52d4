#include "dist/trace/chrome_trace.h"

#include <gtest/gtest.h>

#include <sstream>

#include "tests/dist/trace/timeline.h"

namespace tessera::dist {
namespace {

std::shared_ptr<const Channel> channel(int rank) {
  Channel result{.axis = "dp", .purpose = "gradients", .key = 0xabc, .rank = rank};
  result.world_ranks = {0, 1};
  return std::make_shared<const Channel>(result);
}

/// Two operations that overlap, during a step.
Recorder recorded(int rank) {
  Recorder recorder;
  recorder.set_detailed(true);
  {
    const SpanScope step(&recorder, SpanKind::step, "step", 0);
    for (std::int64_t order = 0; order < 2; ++order)
      recorder.begin_operation(
          {.channel = channel(rank), .name = "all_reduce", .algorithm = "ring", .order = order});
    { const SpanScope op(&recorder, SpanKind::op, "linear"); }
    for (std::int64_t operation = 0; operation < 2; ++operation) {
      const SpanScope wait(&recorder, SpanKind::wait, "all_reduce", operation);
      recorder.end_operation(operation);
    }
  }
  return recorder;
}

/// A piece of each operation to the other rank, and one from it, all seen now.
void add_transfers(Recorder& recorder, int rank) {
  for (std::int64_t operation = 0; operation < 2; ++operation)
    for (const bool sent : {true, false})
      recorder.add({.operation = operation,
                    .peer = 1 - rank,
                    .sent = sent,
                    .order = recorder.next_transfer(),
                    .begin_s = recorder.operations()[0].begin_s,
                    .end_s = now_s()});
}

nlohmann::json timeline_of_two() {
  std::vector<Recorder> recorders;
  for (const int rank : {0, 1}) recorders.push_back(recorded(rank));
  for (const int rank : {0, 1}) add_transfers(recorders[static_cast<std::size_t>(rank)], rank);
  const double origin_s = recorders[0].spans().back().begin_s;
  std::vector<std::string> events;
  for (const int rank : {0, 1}) {
    const Recorder& recorder = recorders[static_cast<std::size_t>(rank)];
    Arrivals arrivals;
    for (const Operation& operation : recorder.operations()) arrivals.push_back(operation.end_s);
    events.push_back(chrome_events(recorder, arrivals, rank, -origin_s));
  }
  std::ostringstream out;
  write_chrome_trace(out, events, {"rank 0 on \"a\"", "rank 1"});
  return nlohmann::json::parse(out.str());
}

TEST(ChromeTrace, FollowsTheFormat) {
  const nlohmann::json file = timeline_of_two();
  const TimelineFacts facts = check_timeline(file, 2);
  EXPECT_EQ(facts.slices.at("step"), 2);
  EXPECT_EQ(facts.slices.at("op"), 2);
  EXPECT_EQ(facts.slices.at("operation"), 4);
  EXPECT_EQ(facts.arrows, 4);
  EXPECT_EQ(file["traceEvents"][0]["args"]["name"], "rank 0 on \"a\"");
}

TEST(ChromeTrace, OperationsThatOverlapLieInDifferentLanes) {
  std::set<int> lanes;
  const nlohmann::json file = timeline_of_two();
  for (const nlohmann::json& event : file["traceEvents"])
    if (event["ph"] == "X" && event["cat"] == "operation") lanes.insert(event["tid"].get<int>());
  EXPECT_EQ(lanes, (std::set{1, 2}));
}

}  // namespace
}  // namespace tessera::dist
