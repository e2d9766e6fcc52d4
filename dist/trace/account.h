#pragma once

#include <array>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tensor/memory.h"

/// What a run's seconds and bytes went into: plain data that tables, JSON, timelines and pages are made of.
namespace tessera::dist {

/// Where the seconds of a step went on one rank. Each part but other is timed by itself; the parts, without
/// hidden_comm_s, add up to step_s.
struct StepParts {
  double step_s = 0;
  double compute_s = 0;
  double exposed_comm_s = 0;  ///< starting, polling, and waits once all participants have begun
  double wait_s = 0;          ///< for a participant that had not begun yet
  double bubble_s = 0;        ///< the same along pp
  double optimizer_s = 0;     ///< norm of the gradient, and update
  double data_s = 0;
  double other_s = 0;  ///< what is left
  /// Beside them: a collective under way, all its participants in it, while this rank did something else.
  double hidden_comm_s = 0;
};

/// The parts by name, in the order in which they are shown.
struct NamedPart {
  const char* name;
  double StepParts::*part;
};
inline constexpr std::array kStepParts = {NamedPart{"step_s", &StepParts::step_s},
                                          NamedPart{"compute_s", &StepParts::compute_s},
                                          NamedPart{"exposed_comm_s", &StepParts::exposed_comm_s},
                                          NamedPart{"hidden_comm_s", &StepParts::hidden_comm_s},
                                          NamedPart{"wait_s", &StepParts::wait_s},
                                          NamedPart{"bubble_s", &StepParts::bubble_s},
                                          NamedPart{"optimizer_s", &StepParts::optimizer_s},
                                          NamedPart{"data_s", &StepParts::data_s},
                                          NamedPart{"other_s", &StepParts::other_s}};

struct StepAccount {
  Index step = 0;
  double begin_s = 0;  ///< on rank 0's clock, since the run began
  StepParts parts{};
};

/// 0 for none.
double median(std::vector<double> values);
/// The median of each part by itself: they do not add up.
StepParts median_parts(const std::vector<StepAccount>& steps);
/// The mean of each part: they add up.
StepParts mean_parts(std::span<const StepAccount> steps);

/// All calls of one operation by one algorithm along one axis, as one rank saw them.
struct CommAccount {
  std::string op{}, axis{}, purpose{}, algorithm{};
  int ranks = 1;
  Index calls = 0;
  Index messages = 0, bytes = 0;  ///< that this rank has sent
  Index buffer_bytes = 0;         ///< the operations' own, whatever their algorithm makes of them
  double seconds = 0;             ///< from when the last participant began
  double predicted_s = 0;         ///< by the plan's prices; 0: none

  /// Bytes of the buffer per second; 0 for no seconds.
  double algbw() const;
  /// What each rank's link carries per second, if the algorithm sends no byte twice: comparable over numbers
  /// of ranks and operations (nccl-tests, PERFORMANCE.md).
  double busbw() const;
};

/// Bytes of one category of tensor memory.
struct MemoryAccount {
  Index current = 0, peak = 0;
  double formula = -1;  ///< what the plan says the peak is; < 0: it says nothing
};

/// What one rank has to tell of a run.
struct RankAccount {
  int rank = 0;
  std::string node{};
  std::vector<std::pair<std::string, int>> coords{};  ///< along each named axis
  std::vector<StepAccount> steps{};
  std::vector<CommAccount> comm{};
  std::array<MemoryAccount, kNumCategories> memory{};
  Index peak_rss_bytes = 0;
  Index parameters = 0;                          ///< elements used here
  double events_per_step = 0, event_cost_s = 0;  ///< what keeping these accounts took
  double clock_error_s = 0;  ///< at most so much is this rank's clock off rank 0's after alignment

  /// Of all steps but the first two, if there are more: those fetch memory.
  StepParts mean() const;
};

}  // namespace tessera::dist
