#include <gtest/gtest.h>

#include <stdexcept>

#include "dist/plan/pipeline.h"
#include "dist/plan/simulate.h"

namespace tessera::plan {
namespace {

constexpr double kRounding = 1e-9;

struct Size {
  int ranks, microbatches, chunks;
};

std::vector<Size> sizes(const std::string& name) {
  std::vector<Size> all;
  for (const int p : {1, 2, 3, 4, 8})
    for (const int groups : {1, 2, 5}) {
      if (name == "interleaved") {
        for (const int v : {2, 3}) all.push_back({p, groups * p, v});
      } else {
        all.push_back({p, groups * p + (name == "gpipe" ? 1 : 0), 1});
      }
    }
  return all;
}

PipelineRun run(const std::string& name, const Size& s, const PassTimes& times) {
  return simulate(pipeline_schedule(name, s.ranks, s.microbatches, s.chunks), times);
}

TEST(PipelineSchedule, SimulatedBubblesAndMemoryAreTheFormulas) {
  const PassTimes times = {.forward = 3, .backward_input = 4, .backward_weight = 2};
  for (const std::string name : {"gpipe", "1f1b", "interleaved"})
    for (const Size& s : sizes(name)) {
      SCOPED_TRACE(name + " " + std::to_string(s.ranks) + " ranks " + std::to_string(s.microbatches));
      const PipelineRun r = run(name, s, times);
      EXPECT_NEAR(r.bubble_over_ideal(), bubble_over_ideal(name, s.ranks, s.microbatches, s.chunks, times),
                  kRounding);
      EXPECT_NEAR(r.makespan_s, pipeline_seconds(name, s.ranks, s.microbatches, s.chunks, times), 1e-6);
      for (int rank = 0; rank < s.ranks; ++rank)
        EXPECT_NEAR(r.peak_in_flight[rank], in_flight(name, s.ranks, s.microbatches, s.chunks, rank),
                    kRounding);
    }
}

TEST(PipelineSchedule, ZeroBubblesAreThePublishedOnesAtEqualTimes) {
  for (const std::string name : {"zb-h1", "zb-h2"})
    for (const int p : {2, 3, 4, 8}) {
      const Size s = {p, 4 * p, 1};
      const PipelineRun r = run(name, s, {});
      EXPECT_NEAR(r.internal_bubble_s, bubble_over_ideal(name, p, 4 * p, 1, {}) * r.ideal_s, kRounding)
          << name << p;
      EXPECT_NEAR(r.makespan_s, pipeline_seconds(name, p, 4 * p, 1, {}), kRounding) << name << p;
      EXPECT_EQ(r.peak_in_flight[0], in_flight(name, p, 4 * p, 1, 0)) << name << p;
    }
}

TEST(PipelineSchedule, ZeroBubbleIsFasterThan1f1bWhereWeightsTakeTime) {
  for (const double weight : {0.5, 1.0, 1.2})
    for (const int p : {2, 5}) {
      const PassTimes times = {.forward = 1, .backward_input = 1.2, .backward_weight = weight};
      const Size s = {p, 3 * p, 1};
      EXPECT_LT(run("zb-h1", s, times).makespan_s, run("1f1b", s, times).makespan_s);
    }
}

TEST(PipelineSchedule, HopsMakeItLonger) {
  EXPECT_GT(run("1f1b", {4, 8, 1}, {.hop = 0.5}).makespan_s, run("1f1b", {4, 8, 1}, {}).makespan_s);
  EXPECT_EQ(run("1f1b", {1, 8, 1}, {.hop = 0.5}).makespan_s, run("1f1b", {1, 8, 1}, {}).makespan_s);
}

TEST(PipelineSchedule, EachActionWaitsForWhatItNeeds) {
  const PassTimes times = {};
  for (const std::string& name : pipeline_schedule_names()) {
    const Size s = {4, 8, name == "interleaved" ? 2 : 1};
    const PipelineRun r = run(name, s, times);
    std::vector<double> forward_end(s.ranks * s.chunks * s.microbatches);
    const auto at = [&](int rank, const Action& a) -> double& {
      return forward_end[(a.chunk * s.ranks + rank) * s.microbatches + a.microbatch];
    };
    for (int rank = 0; rank < s.ranks; ++rank)
      for (const TimedAction& t : r.by_rank[rank])
        if (t.action.pass == Pass::forward) at(rank, t.action) = t.end_s;
    for (int rank = 0; rank < s.ranks; ++rank)
      for (const TimedAction& t : r.by_rank[rank]) {
        const int stage = t.action.chunk * s.ranks + rank;
        if (t.action.pass == Pass::forward && stage > 0) {
          Action before = t.action;
          before.chunk = (stage - 1) / s.ranks;
          EXPECT_GE(t.begin_s, at((stage - 1) % s.ranks, before)) << name;
        }
        if (t.action.pass != Pass::forward) {
          EXPECT_GE(t.begin_s, at(rank, t.action)) << name;
        }
      }
  }
}

TEST(Simulate, RefusesWhatWouldWaitForEver) {
  PipelineSchedule s = one_f_one_b(2, 2);
  std::swap(s.by_rank[0][0], s.by_rank[0].back());  // a backward first
  EXPECT_THROW(simulate(s, {}), std::invalid_argument);
  s = gpipe(2, 2);
  s.by_rank[1].pop_back();
  EXPECT_THROW(simulate(s, {}), std::invalid_argument);
  s = gpipe(2, 2);
  s.by_rank[1][1] = s.by_rank[1][0];
  EXPECT_THROW(simulate(s, {}), std::invalid_argument);
  s = gpipe(2, 2);
  s.by_rank[0][0].microbatch = 7;
  EXPECT_THROW(simulate(s, {}), std::invalid_argument);
}

TEST(PipelineSchedule, RejectsImpossibleSizes) {
  EXPECT_THROW(gpipe(0, 1), std::invalid_argument);
  EXPECT_THROW(one_f_one_b(2, 0), std::invalid_argument);
  EXPECT_THROW(interleaved(4, 6, 2), std::invalid_argument);
  EXPECT_THROW(zero_bubble_h1(4, 0), std::invalid_argument);
  EXPECT_THROW(interleaved(4, 8, 1), std::invalid_argument);
  EXPECT_THROW(pipeline_schedule("1f1b", 4, 8, 2), std::invalid_argument);
  EXPECT_THROW(pipeline_schedule("dualpipe", 4, 8, 1), std::invalid_argument);
}

}  // namespace
}  // namespace tessera::plan
