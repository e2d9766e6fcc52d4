#include "dist/plan/pipeline_schedule.h"

#include <algorithm>

#include "dist/plan/request.h"
#include "dist/plan/require.h"

namespace tessera::plan {
namespace {

constexpr double kMostActions = 1e6;  // what a command simulates while one waits

void require_sizes(const char* op, int ranks, int microbatches) {
  require(ranks >= 1 && microbatches >= 1, op, "got ", ranks, " ranks and ", microbatches,
          " microbatches, expected at least 1");
}

/// `warm_up` forwards; then a forward and a backward in turn; then the backwards that are left. forward(i)
/// and backward(i) are the i-th of `count` each.
template <class Forward, class Backward>
Actions warm_up_and_alternate(int count, int warm_up, Forward forward, Backward backward) {
  Actions actions;
  for (int i = 0; i < warm_up; ++i) actions.push_back(forward(i));
  for (int i = warm_up; i < count; ++i) {
    actions.push_back(forward(i));
    actions.push_back(backward(i - warm_up));
  }
  for (int i = count - warm_up; i < count; ++i) actions.push_back(backward(i));
  return actions;
}

Actions one_chunk(int microbatches, int warm_up) {
  return warm_up_and_alternate(
      microbatches, std::min(warm_up, microbatches),
      [](int i) {
        return Action{Pass::forward, 0, i};
      },
      [](int i) {
        return Action{Pass::backward, 0, i};
      });
}

/// `warm_up` forwards; then a forward, a backward_input and, `delay` microbatches behind it, a
/// backward_weight in turn, for as long as there are any.
Actions split_backward(int microbatches, int warm_up, int delay) {
  Actions actions;
  const auto add = [&](Pass pass, int i) {
    if (i >= 0 && i < microbatches) actions.push_back({pass, 0, i});
  };
  for (int i = 0; i < warm_up; ++i) add(Pass::forward, i);
  for (int i = 0; i < microbatches + delay; ++i) {
    add(Pass::forward, warm_up + i);
    add(Pass::backward_input, i);
    add(Pass::backward_weight, i - delay);
  }
  return actions;
}

}  // namespace

bool PipelineSchedule::split() const {
  return std::ranges::any_of(by_rank.front(), [](const Action& a) { return a.pass == Pass::backward_input; });
}

PipelineSchedule gpipe(int ranks, int microbatches) {
  require_sizes("gpipe", ranks, microbatches);
  PipelineSchedule schedule = {"gpipe", ranks, microbatches, 1, {}};
  schedule.by_rank.assign(ranks, one_chunk(microbatches, microbatches));
  return schedule;
}

PipelineSchedule one_f_one_b(int ranks, int microbatches) {
  require_sizes("1f1b", ranks, microbatches);
  PipelineSchedule schedule = {"1f1b", ranks, microbatches, 1, {}};
  for (int rank = 0; rank < ranks; ++rank)
    schedule.by_rank.push_back(one_chunk(microbatches, ranks - rank - 1));
  return schedule;
}

PipelineSchedule interleaved(int ranks, int microbatches, int chunks) {
  require_sizes("interleaved", ranks, microbatches);
  require(chunks > 1, "interleaved", "got ", chunks, " chunks per rank, expected at least 2");
  require(microbatches % ranks == 0, "interleaved", "got ", microbatches, " microbatches on ", ranks,
          " ranks, expected a multiple");
  PipelineSchedule schedule = {"interleaved", ranks, microbatches, chunks, {}};
  const int group = ranks * chunks, count = microbatches * chunks;
  const auto action = [=](Pass pass, int i) {
    const int chunk = i % group / ranks, microbatch = i / group * ranks + i % ranks;
    return Action{pass, pass == Pass::forward ? chunk : chunks - 1 - chunk, microbatch};
  };
  for (int rank = 0; rank < ranks; ++rank) {
    const int warm_up = std::min(count, 2 * (ranks - rank - 1) + (chunks - 1) * ranks);
    schedule.by_rank.push_back(warm_up_and_alternate(
        count, warm_up, [&](int i) { return action(Pass::forward, i); },
        [&](int i) { return action(Pass::backward, i); }));
  }
  return schedule;
}

PipelineSchedule zero_bubble_h1(int ranks, int microbatches) {
  require_sizes("zb-h1", ranks, microbatches);
  PipelineSchedule schedule = {"zb-h1", ranks, microbatches, 1, {}};
  for (int rank = 0; rank < ranks; ++rank)
    schedule.by_rank.push_back(split_backward(microbatches, ranks - rank - 1, rank));
  return schedule;
}

PipelineSchedule zero_bubble_h2(int ranks, int microbatches) {
  require_sizes("zb-h2", ranks, microbatches);
  PipelineSchedule schedule = {"zb-h2", ranks, microbatches, 1, {}};
  for (int rank = 0; rank < ranks; ++rank)
    schedule.by_rank.push_back(split_backward(microbatches, 2 * (ranks - rank - 1), 2 * rank));
  return schedule;
}

const std::vector<std::string>& pipeline_schedule_names() {
  static const std::vector<std::string> kNames = {"1f1b", "gpipe", "interleaved", "zb-h1", "zb-h2"};
  return kNames;
}

PipelineSchedule pipeline_schedule(const std::string& name, int ranks, int microbatches, int chunks) {
  require_known("schedule", name, pipeline_schedule_names());
  require(chunks == 1 || name == "interleaved", "virtual_stages", "got ", chunks, " with schedule ", name,
          ", expected 1, or schedule interleaved");
  const double actions = 3.0 * ranks * microbatches * chunks;
  require(actions <= kMostActions, "microbatches", "got ", ranks, " ranks with ", microbatches,
          " microbatches, ", actions, " actions, expected at most ", kMostActions);
  if (name == "gpipe") return gpipe(ranks, microbatches);
  if (name == "1f1b") return one_f_one_b(ranks, microbatches);
  if (name == "interleaved") return interleaved(ranks, microbatches, chunks);
  return name == "zb-h1" ? zero_bubble_h1(ranks, microbatches) : zero_bubble_h2(ranks, microbatches);
}

}  // namespace tessera::plan
