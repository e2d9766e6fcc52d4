#pragma once

#include "dist/plan/pipeline_schedule.h"

namespace tessera::plan {

/// Durations of a microbatch's passes through all of one rank's layers; backward is backward_input plus
/// backward_weight.
struct PassTimes {
  double forward = 1, backward_input = 1, backward_weight = 1;
  double hop = 0;  ///< a message to the next rank

  double of(Pass pass) const;
};

/// An action and when it runs.
struct TimedAction {
  Action action{};
  double begin_s = 0, end_s = 0;
};

/// What running a schedule comes to. Three ways to say how much is idle, for published figures use all three:
/// of the ideal, of the total, and of a rank between its own first and last action.
struct PipelineRun {
  std::vector<std::vector<TimedAction>> by_rank;
  double makespan_s = 0;
  double ideal_s = 0;                  ///< busy time of one rank
  double internal_bubble_s = 0;        ///< the most idle of all ranks, between its first and last action
  std::vector<double> peak_in_flight;  ///< microbatches that a rank holds the activations of, at most

  double bubble_s() const { return makespan_s - ideal_s; }
  double bubble_over_ideal() const { return bubble_s() / ideal_s; }
  double bubble_of_total() const { return bubble_s() / makespan_s; }
};

/// Runs all ranks in one process: each starts its next action as soon as it is free and what the action needs
/// is there. A chunk's action takes 1/chunks of the times. Activations are held from forward to the end of
/// backward, or of backward_weight; a chunk's count 1/chunks.
/// @throws std::invalid_argument for a schedule that would wait for ever, naming what waits, or that leaves
/// out or repeats an action.
PipelineRun simulate(const PipelineSchedule& schedule, const PassTimes& times);

}  // namespace tessera::plan
