#include "examples/bench_step.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "dist/trace/op_recording.h"
#include "dist/trace/split_step.h"
#include "examples/files.h"
#include "examples/gemm_peak.h"
#include "examples/memory_check.h"
#include "examples/process.h"
#include "examples/random_batch.h"
#include "examples/text.h"
#include "nn/train_step.h"

namespace tessera {
namespace {

constexpr Index kSettled = 3;  // from this step on all memory has been used before

/// What the steps showed.
struct Measurements {
  std::vector<dist::StepAccount> steps;
  Index max_faults = 0;        // of one step from kSettled on
  Index rss_growth_bytes = 0;  // of the peak, in these steps
};

/// What is told of a run.
struct Results {
  dist::StepParts step;
  double tokens_per_s, achieved_flops;
  Index rss_before_model_bytes, peak_rss_bytes, rss_growth_bytes, max_faults;
  Ledger ledger;
  double gemm_peak_flops;  ///< measured last: the fields are filled in order

  double share_of_peak() const { return achieved_flops / gemm_peak_flops; }
};

Measurements measure(nn::Transformer& model, const nn::Batch& batch, const BenchOptions& options) {
  nn::Optimizer optimizer(model.parameters(), {});
  dist::Recorder recorder;
  const dist::OpRecording recording(recorder);
  Measurements m;
  for (Index step = 0; step < options.warmup_steps + options.steps; ++step) {
    const Index faults = minor_faults(), peak_rss = peak_rss_bytes();
    {
      const dist::SpanScope span(&recorder, dist::SpanKind::step, "step", step);
      nn::train_step(model, optimizer, batch, {.lr = 1e-4, .clip = 1, .step = step});
    }
    if (step >= options.warmup_steps) m.steps.push_back(split_steps(recorder.spans(), {}, {}).front());
    recorder.clear();
    if (step < kSettled) continue;
    m.max_faults = std::max(m.max_faults, minor_faults() - faults);
    m.rss_growth_bytes += peak_rss_bytes() - peak_rss;
  }
  return m;
}

Results run(const BenchOptions& options, const nn::ModelConfig& config) {
  const double peak_before = gemm_peak(options.dtype);
  const Index rss_before = rss_bytes();

  nn::Transformer model(config);
  check_memory(model, {options.batch, 1, options.dtype, {}});
  model.set_recompute(options.recompute);
  model.materialize(1, options.dtype);
  const Measurements m = measure(model, random_batch(config, options.batch, 1), options);

  const dist::StepParts step = median_parts(m.steps);
  const auto tokens = static_cast<double>(options.batch * config.context);
  return {.step = step,
          .tokens_per_s = tokens / step.step_s,
          .achieved_flops = nn::training_flops(config, options.batch) / step.step_s,
          .rss_before_model_bytes = rss_before,
          .peak_rss_bytes = peak_rss_bytes(),
          .rss_growth_bytes = m.rss_growth_bytes,
          .max_faults = m.max_faults,
          .ledger = context().ledger,
          .gemm_peak_flops = std::max(peak_before, gemm_peak(options.dtype))};
}

void print(const Results& r) {
  fmt::print("step           {:.2f} ms: compute {:.2f}, optimizer {:.2f}, other {:.2f} (medians)\n",
             r.step.step_s * 1e3, r.step.compute_s * 1e3, r.step.optimizer_s * 1e3, r.step.other_s * 1e3);
  fmt::print("speed          {} tokens/s\n", grouped(static_cast<Index>(r.tokens_per_s)));
  fmt::print("achieved       {}, {:.1f} % of the best matrix product, {}\n", rate_text(r.achieved_flops),
             100 * r.share_of_peak(), rate_text(r.gemm_peak_flops));
  fmt::print("peak memory    {}\n", peaks_text(r.ledger));
  fmt::print("RSS            {} before the model, {} at most, {} of it from step {} on\n",
             bytes_text(r.rss_before_model_bytes), bytes_text(r.peak_rss_bytes),
             bytes_text(r.rss_growth_bytes), kSettled);
  fmt::print("page faults    at most {} in a step from step {} on\n", r.max_faults, kSettled);
}

nlohmann::json to_json(const Results& r) {
  return {{"tokens_per_s", r.tokens_per_s},
          {"step_s", r.step.step_s},
          {"compute_s", r.step.compute_s},
          {"optimizer_s", r.step.optimizer_s},
          {"achieved_flops", r.achieved_flops},
          {"gemm_peak_flops", r.gemm_peak_flops},
          {"share_of_peak", r.share_of_peak()},
          {"peak_rss_bytes", r.peak_rss_bytes},
          {"rss_before_model_bytes", r.rss_before_model_bytes},
          {"rss_growth_bytes", r.rss_growth_bytes},
          {"max_minor_faults", r.max_faults},
          {"peak_bytes", peaks_json(r.ledger)}};
}

}  // namespace

void bench_step(const BenchOptions& options) {
  const nn::ModelConfig config = configure(options.model);
  check_writable_file("--json", options.json);
  const Results results = run(options, config);
  print(results);
  if (!options.json.empty()) write_file(options.json, to_json(results).dump(1) + "\n");
}

}  // namespace tessera
