#include "dist/plan/search.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "dist/plan/require.h"

namespace tessera::plan {
namespace {

constexpr double kMostDevices = 1e6;

std::vector<double> divisors(double number) {
  std::vector<double> all;
  for (double d = 1; d <= number; ++d)
    if (std::fmod(number, d) == 0) all.push_back(d);
  return all;
}

class Search {
 public:
  explicit Search(const SearchInput& input) : in_(input), sequences_(input.batch / input.sequence) {}

  SearchResult run() {
    for (const double tp : divisors(in_.devices)) {
      if (tp > in_.model.dim) break;
      for (const double pp : divisors(in_.devices / tp)) {
        if (pp > in_.model.layers) break;
        for (const double cp : divisors(in_.devices / (tp * pp))) consider(tp, pp, cp);
      }
    }
    std::ranges::stable_sort(result_.ranked, {}, [](const Candidate& c) { return c.cost.step_s(); });
    return std::move(result_);
  }

 private:
  void consider(double tp, double pp, double cp) {
    Layout l = {.dp = in_.devices / (tp * pp * cp), .tp = tp, .pp = pp, .cp = cp};
    l.sequence_parallel = tp > 1;
    if (cp * 2 > in_.sequence) return;
    for (const double ep : in_.model.experts > 1 ? divisors(l.dp * cp) : std::vector<double>{1}) {
      l.ep = ep;
      if (impossible(l, in_.model).empty()) choose(l);
    }
  }

  /// The fastest choice of the rest that fits.
  void choose(const Layout& degrees) {
    if (degrees.dp > sequences_) {
      result_.misfits.push_back({degrees, "dp " + quantity_text(degrees.dp, Unit::count) +
                                              " is more than the " + quantity_text(sequences_, Unit::count) +
                                              " sequences of the batch"});
      return;
    }
    std::optional<Candidate> best, leanest;
    for_each_choice(degrees, [&](const Layout& l) {
      ++result_.considered;
      const StageMemory memory =
          fullest(stage_memory({in_.model, l, in_.state, in_.activations, in_.batch, in_.sequence}));
      if (!leanest || memory.total() < leanest->memory.total()) leanest = {l, {}, memory};
      if (memory.total() > in_.hardware.memory_bytes) return;
      const StepCost cost = step_cost(in_.model, in_.hardware, l, in_.batch, in_.sequence);
      if (!best || cost.step_s() < best->cost.step_s()) best = {l, cost, memory};
    });
    if (best) {
      const double flops = model_flops_per_token(in_.model, in_.sequence) * in_.batch;
      best->mfu = flops / (best->cost.step_s() * in_.devices * in_.hardware.flops);
      result_.ranked.push_back(*best);
    } else if (leanest) {
      result_.misfits.push_back({leanest->layout, too_large(leanest->memory)});
    }
  }

  template <class Visit>
  void for_each_choice(Layout l, Visit&& visit) const {
    const bool many = l.dp * l.cp > 1;
    for (const double zero : many ? std::vector<double>{0, 1, 2, 3} : std::vector<double>{0})
      for (const Recompute recompute : {Recompute::none, Recompute::selective, Recompute::full})
        for (double m = 1; m <= sequences_ / l.dp; m *= 2) {
          l.zero = zero, l.recompute = recompute, l.microbatches = m;
          l.schedule = "1f1b", l.virtual_stages = 1;
          visit(l);
          if (l.pp == 1 || m < l.pp) continue;  // their bubbles hold from there on
          l.schedule = "zb-h1";
          visit(l);
          l.schedule = "interleaved", l.virtual_stages = 2;
          if (impossible(l, in_.model).empty()) visit(l);
        }
  }

  std::string too_large(const StageMemory& s) const {
    return "needs at least " + quantity_text(s.total(), Unit::bytes) + " (state " +
           quantity_text(s.state(), Unit::bytes) + ", activations " +
           quantity_text(s.activations + s.logits, Unit::bytes) + ") of " +
           quantity_text(in_.hardware.memory_bytes, Unit::bytes);
  }

  const SearchInput& in_;
  double sequences_;
  SearchResult result_;
};

}  // namespace

SearchResult search_layouts(const SearchInput& input) {
  require(input.devices <= kMostDevices, "devices", "got ", input.devices, ", expected at most ",
          kMostDevices);
  require(input.batch >= input.sequence, "batch", "got ", input.batch,
          " tokens, expected at least one sequence of ", input.sequence);
  require(input.hardware.memory_bytes > 0, "hardware", "has no memory_bytes, expected a size like 80GB");
  return Search(input).run();
}

}  // namespace tessera::plan
