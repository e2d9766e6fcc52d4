#pragma once

#include <string>
#include <vector>

#include "dist/plan/memory.h"
#include "dist/plan/step.h"

namespace tessera::plan {

struct SearchInput {
  Model model;
  Hardware hardware;
  double devices = 1, batch = 0, sequence = 0;  ///< batch in tokens
  StateBytes state;
  ActivationRule activations;
};

/// A layout, what its step takes and what its fullest device holds.
struct Candidate {
  Layout layout;
  StepCost cost;
  StageMemory memory;
  double mfu = 0;
};

/// Degrees that no choice of the rest makes fit: the leanest choice, or why there is none.
struct Misfit {
  Layout layout;
  std::string reason;
};

struct SearchResult {
  std::vector<Candidate> ranked;  ///< by step time; for each set of degrees the fastest that fits
  std::vector<Misfit> misfits;
  std::size_t considered = 0;  ///< layouts that were priced
};

/// All degrees (dp, tp, pp, cp, ep) of that many devices; for each, all ZeRO levels, recomputation, schedules
/// (1f1b, interleaved over 2 stages per rank, zb-h1) and powers of two of microbatches. tp always takes
/// sequence parallel with it, which costs nothing. What is impossible is left out: degrees that do not divide
/// heads, experts, more stages than layers, a microbatch without a sequence.
/// @throws std::invalid_argument for more than 1e6 devices, a batch that is no sequence.
SearchResult search_layouts(const SearchInput& input);

}  // namespace tessera::plan
