#include "dist/plan/simulate.h"

#include <algorithm>
#include <optional>

#include "dist/plan/require.h"

namespace tessera::plan {
namespace {

constexpr double kNotYet = -1;

bool is_backward(Pass pass) { return pass == Pass::backward || pass == Pass::backward_input; }

/// When each stage was done with each microbatch.
class Ends {
 public:
  Ends(const PipelineSchedule& s)
      : ranks_(s.ranks), stages_(s.ranks * s.chunks), microbatches_(s.microbatches) {
    for (auto* table : {&forward_, &backward_, &weight_})
      table->assign(static_cast<std::size_t>(stages_) * microbatches_, kNotYet);
  }

  double& of(int rank, const Action& action) {
    auto& table = action.pass == Pass::forward ? forward_ : is_backward(action.pass) ? backward_ : weight_;
    return at(table, action.chunk * ranks_ + rank, action.microbatch);
  }

  /// When what `action` needs is there; none while it is not known.
  std::optional<double> ready(int rank, const Action& action, double hop) {
    const int stage = action.chunk * ranks_ + rank, m = action.microbatch;
    double ready = 0;
    const auto need = [&](std::vector<double>& table, int from, double travel) {
      const double end = at(table, from, m);
      ready = end == kNotYet || ready == kNotYet ? kNotYet : std::max(ready, end + travel);
    };
    const double travel = ranks_ > 1 ? hop : 0;
    if (action.pass == Pass::forward && stage > 0) need(forward_, stage - 1, travel);
    if (is_backward(action.pass)) need(forward_, stage, 0);
    if (is_backward(action.pass) && stage + 1 < stages_) need(backward_, stage + 1, travel);
    if (action.pass == Pass::backward_weight) need(backward_, stage, 0);
    return ready == kNotYet ? std::nullopt : std::optional(ready);
  }

 private:
  double& at(std::vector<double>& table, int stage, int microbatch) const {
    return table[static_cast<std::size_t>(stage) * microbatches_ + microbatch];
  }
  int ranks_, stages_, microbatches_;
  std::vector<double> forward_, backward_, weight_;
};

/// As many actions as there have to be, on chunks and microbatches that exist. That none is repeated, and so
/// none left out, shows when they run.
void require_possible(const PipelineSchedule& s) {
  const auto expected = std::ptrdiff_t{s.microbatches} * s.chunks * (s.split() ? 3 : 2);
  for (int rank = 0; rank < s.ranks; ++rank) {
    require(std::ssize(s.by_rank[rank]) == expected, "simulate", "rank ", rank, " has ",
            s.by_rank[rank].size(), " actions, expected ", expected);
    for (const Action& a : s.by_rank[rank])
      require(a.chunk >= 0 && a.chunk < s.chunks && a.microbatch >= 0 && a.microbatch < s.microbatches,
              "simulate", "rank ", rank, " has chunk ", a.chunk, " of ", s.chunks, ", microbatch ",
              a.microbatch, " of ", s.microbatches);
  }
}

double peak_in_flight(const std::vector<TimedAction>& actions, bool split, int chunks) {
  const Pass last = split ? Pass::backward_weight : Pass::backward;
  int held = 0, peak = 0;
  for (const TimedAction& timed : actions) {
    if (timed.action.pass == Pass::forward) peak = std::max(peak, ++held);
    if (timed.action.pass == last) --held;
  }
  return static_cast<double>(peak) / chunks;
}

void summarize(const PipelineSchedule& schedule, const PassTimes& times, PipelineRun& run) {
  run.ideal_s = schedule.microbatches * (times.forward + times.of(Pass::backward));
  for (const std::vector<TimedAction>& rank : run.by_rank) {
    run.makespan_s = std::max(run.makespan_s, rank.back().end_s);
    run.internal_bubble_s =
        std::max(run.internal_bubble_s, rank.back().end_s - rank.front().begin_s - run.ideal_s);
    run.peak_in_flight.push_back(peak_in_flight(rank, schedule.split(), schedule.chunks));
  }
}

}  // namespace

double PassTimes::of(Pass pass) const {
  switch (pass) {
    case Pass::forward:
      return forward;
    case Pass::backward_input:
      return backward_input;
    case Pass::backward_weight:
      return backward_weight;
    case Pass::backward:
      return backward_input + backward_weight;
  }
  return 0;
}

PipelineRun simulate(const PipelineSchedule& schedule, const PassTimes& times) {
  require_possible(schedule);
  PipelineRun run;
  run.by_rank.resize(schedule.by_rank.size());
  Ends ends(schedule);
  // Rounds over the ranks, each of which goes as far as it can.
  for (bool moved = true; moved;) {
    moved = false;
    for (int rank = 0; rank < schedule.ranks; ++rank) {
      const Actions& actions = schedule.by_rank[rank];
      std::vector<TimedAction>& done = run.by_rank[rank];
      while (done.size() < actions.size()) {
        const Action& action = actions[done.size()];
        require(ends.of(rank, action) == kNotYet, "simulate", "rank ", rank,
                " repeats an action of microbatch ", action.microbatch);
        const std::optional<double> ready = ends.ready(rank, action, times.hop);
        if (!ready) break;
        const double begin = std::max(*ready, done.empty() ? 0 : done.back().end_s);
        const double end = begin + times.of(action.pass) / schedule.chunks;
        ends.of(rank, action) = end;
        done.push_back({action, begin, end});
        moved = true;
      }
    }
  }
  for (int rank = 0; rank < schedule.ranks; ++rank) {
    const std::size_t done = run.by_rank[rank].size();
    require(done == schedule.by_rank[rank].size(), "simulate", "rank ", rank, " waits for ever, at action ",
            done, " of ", schedule.by_rank[rank].size());
  }
  summarize(schedule, times, run);
  return run;
}

}  // namespace tessera::plan
