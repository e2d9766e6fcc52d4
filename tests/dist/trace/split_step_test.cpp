#include "dist/trace/split_step.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace tessera::dist {
namespace {

std::shared_ptr<const Channel> channel(const char* axis) {
  Channel result{.axis = axis};
  result.world_ranks = {0, 1};
  return std::make_shared<const Channel>(result);
}

Span span(SpanKind kind, double begin_s, double end_s, const char* name = "", std::int64_t number = -1) {
  return {.name = name, .begin_s = begin_s, .end_s = end_s, .number = number, .kind = kind};
}

Operation operation(double begin_s, double end_s, const char* axis = "dp") {
  return {.channel = channel(axis), .name = "all_reduce", .begin_s = begin_s, .end_s = end_s};
}

double sum_of_parts(const StepParts& p) {
  return p.compute_s + p.exposed_comm_s + p.wait_s + p.bubble_s + p.optimizer_s + p.data_s + p.other_s;
}

TEST(SplitStep, TimeBelongsToTheInnermostSpan) {
  const std::vector<Span> spans = {span(SpanKind::data, 1, 3),
                                   span(SpanKind::op, 5, 6, "inner"),
                                   span(SpanKind::comm, 7, 9, "poll"),
                                   span(SpanKind::op, 4, 10, "linear"),
                                   span(SpanKind::op, 11, 12, "gradient norm"),
                                   span(SpanKind::op, 12, 15, "optimizer"),
                                   span(SpanKind::step, 0, 20)};
  const StepParts parts = split_step(spans, {}, {});
  EXPECT_EQ(parts.step_s, 20);
  EXPECT_EQ(parts.data_s, 2);
  EXPECT_EQ(parts.compute_s, 4);
  EXPECT_EQ(parts.exposed_comm_s, 2);
  EXPECT_EQ(parts.optimizer_s, 4);
  EXPECT_EQ(parts.other_s, 8);
  EXPECT_EQ(sum_of_parts(parts), 20);
}

TEST(SplitStep, AWaitIsForTheLastParticipantUntilItBegins) {
  const auto parts_of = [](double arrival_s, const char* axis) {
    const std::vector<Span> spans = {span(SpanKind::wait, 2, 8, "all_reduce", 0),
                                     span(SpanKind::step, 0, 10)};
    return split_step(spans, {operation(1, 8, axis)}, {arrival_s});
  };
  for (const auto& [arrival_s, late_s] : {std::pair{1., 0.}, {2., 0.}, {5., 3.}, {8., 6.}, {9., 6.}}) {
    const StepParts dp = parts_of(arrival_s, "dp"), pp = parts_of(arrival_s, "pp");
    EXPECT_EQ(dp.wait_s, late_s);
    EXPECT_EQ(dp.bubble_s, 0);
    EXPECT_EQ(dp.exposed_comm_s, 6 - late_s);
    EXPECT_EQ(pp.bubble_s, late_s);
    EXPECT_EQ(pp.wait_s, 0);
  }
}

TEST(SplitStep, HiddenIsUnderWayWithAllParticipantsDuringSomethingElse) {
  const std::vector<Span> spans = {span(SpanKind::op, 1, 6, "linear"),
                                   span(SpanKind::wait, 7, 9, "all_reduce", 0), span(SpanKind::step, 0, 10)};
  const StepParts parts = split_step(spans, {operation(2, 9)}, {3});
  EXPECT_EQ(parts.hidden_comm_s, 4);  // 3 to 7
  EXPECT_EQ(parts.exposed_comm_s, 2);
  EXPECT_EQ(split_step(spans, {operation(2, 9), operation(1, 8)}, {3, 3}).hidden_comm_s, 4) << "not twice";
}

TEST(SplitStep, FindsStepsAmongOtherSpans) {
  const std::vector<Span> spans = {
      span(SpanKind::op, 0, 1),   span(SpanKind::op, 3, 4), span(SpanKind::step, 2, 5, "step", 7),
      span(SpanKind::wait, 5, 6), span(SpanKind::op, 7, 8), span(SpanKind::step, 6, 9, "step", 8)};
  const std::vector<StepAccount> steps = split_steps(spans, {}, {});
  ASSERT_EQ(steps.size(), 2U);
  EXPECT_EQ(steps[0].step, 7);
  EXPECT_EQ(steps[1].step, 8);
  EXPECT_EQ(steps[1].begin_s, 6);
  for (const StepAccount& step : steps) {
    EXPECT_EQ(step.parts.step_s, 3);
    EXPECT_EQ(step.parts.compute_s, 1);
    EXPECT_EQ(step.parts.exposed_comm_s, 0);
    EXPECT_EQ(step.parts.other_s, 2);
  }
}

/// A step of whole seconds, made up.
struct Script {
  std::vector<Span> spans;  // step last, inner before outer
  std::vector<Operation> operations;
  Arrivals arrivals;
};

constexpr int kSeconds = 60;

Script random_script(unsigned seed) {
  std::mt19937 random(seed);
  const auto draw = [&](int least, int most) { return std::uniform_int_distribution(least, most)(random); };
  Script script;
  for (int i = 0; i < 4; ++i) {
    const int begin = draw(0, kSeconds - 1), end = draw(begin, kSeconds);
    script.operations.push_back(operation(begin, end));
    script.arrivals.push_back(draw(begin, end));
  }
  const char* const ops[] = {"linear", "optimizer", "gradient norm"};
  for (int time = 0; time < kSeconds;) {
    const int begin = time + draw(0, 2), end = std::min(kSeconds, begin + draw(1, 9));
    if (begin >= end) break;
    const int what = draw(0, 3);
    if (what == 0) {
      script.spans.push_back(span(SpanKind::wait, begin, end, "all_reduce", draw(0, 3)));
    } else if (what == 1) {
      script.spans.push_back(span(SpanKind::comm, begin, end, "poll"));
    } else {
      for (int tick = begin + 1; tick + 1 < end; tick += 3)
        script.spans.push_back(span(SpanKind::comm, tick, tick + 1, "poll"));
      const SpanKind kind = what == 2 ? SpanKind::op : SpanKind::data;
      script.spans.push_back(span(kind, begin, end, ops[draw(0, 2)]));
    }
    time = end;
  }
  script.spans.push_back(span(SpanKind::step, 0, kSeconds));
  return script;
}

/// The oracle: what each second was, from the innermost span that holds it.
StepParts second_by_second(const Script& script, double& under_way_s) {
  StepParts parts{.step_s = kSeconds};
  under_way_s = 0;
  for (int second = 0; second < kSeconds; ++second) {
    const double middle = second + 0.5;
    const Span& in = *std::ranges::find_if(
        script.spans, [&](const Span& s) { return s.begin_s < middle && middle < s.end_s; });
    bool moving = false;
    for (std::size_t i = 0; i < script.operations.size(); ++i)
      moving |= script.arrivals[i] < middle && middle < script.operations[i].end_s;
    const bool late =
        in.kind == SpanKind::wait && middle < script.arrivals[static_cast<std::size_t>(in.number)];
    const bool exposed = in.kind == SpanKind::comm || (in.kind == SpanKind::wait && !late);
    if (late) parts.wait_s += 1;
    if (exposed) parts.exposed_comm_s += 1;
    if (in.kind == SpanKind::data) parts.data_s += 1;
    if (in.kind == SpanKind::step) parts.other_s += 1;
    const bool linear = std::string(in.name) == "linear";
    if (in.kind == SpanKind::op) (linear ? parts.compute_s : parts.optimizer_s) += 1;
    if (moving && !late && !exposed) parts.hidden_comm_s += 1;
    if (exposed || (moving && !late)) under_way_s += 1;
  }
  return parts;
}

TEST(SplitStep, EqualsTheOracleOnRandomScripts) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    const Script script = random_script(seed);
    double under_way_s = 0;
    const StepParts expected = second_by_second(script, under_way_s);
    const StepParts parts = split_step(script.spans, script.operations, script.arrivals);
    for (const auto& [name, part] : kStepParts) EXPECT_EQ(parts.*part, expected.*part) << name << seed;
    EXPECT_EQ(parts.hidden_comm_s + parts.exposed_comm_s, under_way_s) << seed;
    EXPECT_EQ(sum_of_parts(parts), kSeconds) << seed;
  }
}

}  // namespace
}  // namespace tessera::dist
