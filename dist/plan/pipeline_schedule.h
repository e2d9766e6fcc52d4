#pragma once

#include <string>
#include <vector>

/// Pipeline schedules as data: for each rank the actions it does, in order. The pipeline executes them, the
/// planner prices them, reports draw them, tests simulate them.
///
/// The model is cut into ranks x chunks stages. Chunk c of rank r is stage c * ranks + r: with several chunks
/// a microbatch goes round the ranks several times.
namespace tessera::plan {

/// What an action does with one microbatch. `backward` gives the gradients of input and weights; a
/// zero-bubble schedule does it in two actions, and the second may wait.
enum class Pass { forward, backward, backward_input, backward_weight };

struct Action {
  Pass pass = Pass::forward;
  int chunk = 0, microbatch = 0;

  bool operator==(const Action&) const = default;
};

using Actions = std::vector<Action>;

struct PipelineSchedule {
  std::string name;
  int ranks = 0, microbatches = 0, chunks = 1;
  std::vector<Actions> by_rank;

  /// Whether backward is two actions.
  bool split() const;
};

/// All forwards, then all backwards. Every rank holds all microbatches' activations.
/// Source: Huang et al. 2019, arXiv:1811.06965.
PipelineSchedule gpipe(int ranks, int microbatches);

/// One forward, one backward, as soon as there is one: as long as gpipe, but rank r holds min(microbatches,
/// ranks - r). Source: Narayanan et al. 2019 (PipeDream), arXiv:1806.03377; flushed as in
/// arXiv:2104.04473, 2.2.1.
PipelineSchedule one_f_one_b(int ranks, int microbatches);

/// 1F1B over `chunks` stages per rank, in groups of `ranks` microbatches: the bubble is 1/chunks of 1F1B's,
/// there are `chunks` times as many messages, and rank 0 holds 1 + (ranks-1)/(ranks chunks) times as much.
/// @throws std::invalid_argument unless chunks > 1 and ranks divides microbatches: with fewer the formula
/// does not hold, since a single microbatch takes ranks (t_f + t_b) however it is cut. Source: Narayanan et
/// al. 2021, arXiv:2104.04473, 2.2.2.
PipelineSchedule interleaved(int ranks, int microbatches, int chunks);

/// Backward split in two, so that the gradient reaches the rank before sooner; weights fill the gaps. Rank r
/// begins with the forwards of 1F1B and does the weights of microbatch i after the backward_input of i + r:
/// it holds min(ranks, microbatches) microbatches' activations, as 1F1B's first rank does, and at F = B = W
/// is idle for (ranks-1)(F + B - W). Source: Qi et al. 2023 (ZB-H1), arXiv:2401.10241, section 3.
PipelineSchedule zero_bubble_h1(int ranks, int microbatches);

/// The same with as many forwards more as fill what is idle in between, and weights 2 r behind: 2 ranks - 1
/// microbatches' activations, and at F = B = W no idle time between a rank's first action and its last.
/// Source: Qi et al. 2023 (ZB-H2), arXiv:2401.10241, section 3.
PipelineSchedule zero_bubble_h2(int ranks, int microbatches);

/// Names that pipeline_schedule takes.
const std::vector<std::string>& pipeline_schedule_names();

/// gpipe, 1f1b, interleaved, zb-h1, zb-h2.
/// @throws std::invalid_argument for another name, chunks > 1 without interleaved, or more than a million
/// actions.
PipelineSchedule pipeline_schedule(const std::string& name, int ranks, int microbatches, int chunks);

}  // namespace tessera::plan
