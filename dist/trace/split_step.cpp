#include "dist/trace/split_step.h"

#include <algorithm>
#include <string_view>

namespace tessera::dist {
namespace {

struct Interval {
  double begin_s, end_s;
};
using Intervals = std::vector<Interval>;

/// The same time, as intervals in order that do not touch.
Intervals merged(Intervals intervals) {
  std::ranges::sort(intervals, {}, &Interval::begin_s);
  Intervals result;
  for (const Interval& interval : intervals) {
    if (interval.end_s <= interval.begin_s) continue;
    if (!result.empty() && interval.begin_s <= result.back().end_s)
      result.back().end_s = std::max(result.back().end_s, interval.end_s);
    else
      result.push_back(interval);
  }
  return result;
}

double seconds_of(const Intervals& intervals) {
  double seconds = 0;
  for (const Interval& interval : intervals) seconds += interval.end_s - interval.begin_s;
  return seconds;
}

/// Time that is in both; each is merged.
double common_s(const Intervals& a, const Intervals& b) {
  double seconds = 0;
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    const double begin_s = std::max(a[i].begin_s, b[j].begin_s), end_s = std::min(a[i].end_s, b[j].end_s);
    seconds += std::max(0.0, end_s - begin_s);
    ++(a[i].end_s < b[j].end_s ? i : j);
  }
  return seconds;
}

bool optimizes(const Span& op) {
  const std::string_view name = op.name;
  return name == "optimizer" || name == "gradient norm";
}

class Splitter {
 public:
  Splitter(const std::vector<Operation>& operations, const Arrivals& arrivals)
      : operations_(operations), arrivals_(arrivals) {}

  StepParts split(std::span<const Span> spans) {
    for (const Span& span : spans) add(span, own_seconds(span));
    const Span& step = spans.back();
    parts_.step_s = step.seconds();
    parts_.hidden_comm_s = hidden_s(step);
    return parts_;
  }

 private:
  /// Its time without that of spans inside it. Those have come before it.
  double own_seconds(const Span& span) {
    double inside_s = 0;
    for (; !open_.empty() && open_.back()->begin_s >= span.begin_s; open_.pop_back())
      inside_s += open_.back()->seconds();
    open_.push_back(&span);
    return span.seconds() - inside_s;
  }

  void add(const Span& span, double seconds) {
    switch (span.kind) {
      case SpanKind::step:
        parts_.other_s += seconds;
        break;
      case SpanKind::data:
        parts_.data_s += seconds;
        break;
      case SpanKind::op:
        (optimizes(span) ? parts_.optimizer_s : parts_.compute_s) += seconds;
        break;
      case SpanKind::comm:
        parts_.exposed_comm_s += seconds;
        communicating_.push_back({span.begin_s, span.end_s});
        break;
      case SpanKind::wait:
        add_wait(span);
        break;
    }
  }

  void add_wait(const Span& span) {
    const auto i = static_cast<std::size_t>(span.number);
    const double late_s = span.number < 0 ? 0 : std::clamp(arrivals_[i] - span.begin_s, 0.0, span.seconds());
    const bool pipeline = span.number >= 0 && operations_[i].channel->axis == "pp";
    (pipeline ? parts_.bubble_s : parts_.wait_s) += late_s;
    parts_.exposed_comm_s += span.seconds() - late_s;
    communicating_.push_back({span.begin_s, span.end_s});
  }

  double hidden_s(const Span& step) {
    Intervals under_way;
    for (std::size_t i = 0; i < operations_.size(); ++i) {
      const Operation& operation = operations_[i];
      under_way.push_back(
          {std::max({operation.begin_s, arrivals_[i], step.begin_s}), std::min(operation.end_s, step.end_s)});
    }
    under_way = merged(std::move(under_way));
    return seconds_of(under_way) - common_s(under_way, merged(std::move(communicating_)));
  }

  const std::vector<Operation>& operations_;
  const Arrivals& arrivals_;
  StepParts parts_;
  std::vector<const Span*> open_;  // those not inside a later one so far
  Intervals communicating_;
};

}  // namespace

StepParts split_step(std::span<const Span> spans, const std::vector<Operation>& operations,
                     const Arrivals& arrivals) {
  return Splitter(operations, arrivals).split(spans);
}

std::vector<StepAccount> split_steps(const std::vector<Span>& spans, const std::vector<Operation>& operations,
                                     const Arrivals& arrivals) {
  std::vector<StepAccount> steps;
  std::size_t first = 0;
  for (std::size_t i = 0; i < spans.size(); ++i) {
    const Span& step = spans[i];
    if (step.kind != SpanKind::step) continue;
    while (spans[first].begin_s < step.begin_s) ++first;  // what came between steps
    const std::span<const Span> inside(&spans[first], i + 1 - first);
    steps.push_back({step.number, step.begin_s, split_step(inside, operations, arrivals)});
    first = i + 1;
  }
  return steps;
}

}  // namespace tessera::dist
