#pragma once

#include "dist/comm/comm.h"
#include "examples/cli.h"

namespace tessera {

/// How much of a step's communication its computing hides. What a step is made of is measured alone, beside
/// steps with and without overlap, on random tokens (AdamW, clipping to 1): medians of steps that take turns,
/// each as long as on the slowest rank.
///
/// A step cannot be shorter than the longer of the two sides, which are told with the ratio that was reached:
///  - ZeRO 0 to 2: max(compute, forward + gradients' communication), since gradients come after the forward;
///    then the optimizer and, at levels 1 and 2, the gather of what was updated;
///  - level 3: max(compute, communication); beside it the first gather, before which there is nothing to
///    compute, and the last reduce_scatter, after which there is nothing.
///
/// @throws std::invalid_argument for one rank, or if each rank cannot have as many sequences.
void bench_overlap(const BenchOptions& options, const dist::Comm& world);

}  // namespace tessera
