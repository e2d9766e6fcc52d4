// Trains a transformer on a text, on as many ranks as mpirun starts.

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "dist/checkpoint/checkpoint.h"
#include "dist/parallel/data_parallel.h"
#include "dist/parallel/parallelize.h"
#include "dist/trace/accountant.h"
#include "dist/trace/gather.h"
#include "examples/cli.h"
#include "examples/corpus.h"
#include "examples/files.h"
#include "examples/gemm_peak.h"
#include "examples/memory_check.h"
#include "examples/network_file.h"
#include "examples/process.h"
#include "examples/program.h"
#include "examples/progress.h"
#include "examples/rank_account.h"
#include "examples/resume.h"
#include "examples/train_page.h"
#include "examples/train_report.h"
#include "nn/data.h"
#include "nn/train_step.h"
#include "tensor/threads.h"

namespace tessera {
namespace {

constexpr Index kValidationTokens = 1 << 16;  // enough for two digits, whatever the size of the file

nn::Dataset open_data(const std::string& path, const nn::ModelConfig& config) {
  if (!path.empty()) return nn::Dataset::from_file(path, config.context, config.vocab);
  check(config.vocab >= 256, "--vocab", "got ", config.vocab,
        ", expected at least 256 for the built-in text's bytes");
  return nn::Dataset::from_bytes(tessera_corpus(), "the built-in text", config.context);
}

/// The batch of one rank.
Index sequences_here(const TrainOptions& options, const dist::Axis& dp) {
  return (options.batch + dp.size() - 1) / dp.size();
}

Index sequences_per_microbatch(const TrainOptions& options, const dist::Axis& dp) {
  return (sequences_here(options, dp) + options.microbatches - 1) / options.microbatches;
}

/// What this rank evaluates, in batches no larger than a training step's microbatch.
std::vector<nn::Batch> validation_batches(const nn::Dataset& data, const nn::ModelConfig& config,
                                          const TrainOptions& options, const dist::Axis& dp) {
  const Index all =
      std::min(data.num_validation_sequences(), std::max<Index>(1, kValidationTokens / config.context));
  const Index size = sequences_per_microbatch(options, dp);
  std::vector<nn::Batch> batches;
  for (Index first = 0; first < all; first += size) {
    batches.push_back(data.validation(first, std::min(size, all - first)));
  }
  return dist::data_share(batches, dp);
}

/// One run: what stays the same from step to step.
struct Training {
  const TrainOptions& options;
  const dist::Mesh& mesh;
  const nn::Dataset& data;
  nn::Transformer& model;
  dist::Parallel& parallel;
  nn::Optimizer& optimizer;
  dist::Accountant& accounts;

  dist::Axis dp() const { return mesh.axis("dp"); }
  bool speaks() const { return mesh.world().rank() == 0; }
  /// Signals reach ranks at different times; all stop after the same step.
  bool interrupted() const { return dist::max(mesh.world(), dist::interrupted()) != 0; }
};

nn::Batch make_batch(const Training& run, Index step) {
  const dist::SpanScope span(run.accounts.recorder(), dist::SpanKind::data, "batch");
  return dist::data_share(run.data, run.dp(), run.options.seed, step, run.options.batch);
}

StepRecord take_step(const Training& run, Index step) {
  const TrainOptions& o = run.options;
  const dist::SpanScope span(run.accounts.recorder(), dist::SpanKind::step, "step", step);
  const Stopwatch watch;
  const nn::Batch batch = make_batch(run, step);
  const double lr = nn::learning_rate({o.lr, o.warmup, o.steps, o.lr_decay}, step);
  const nn::StepOptions options = {o.microbatches, lr, o.clip, o.seed, step};
  const nn::StepResult result =
      nn::train_step(run.model, run.optimizer, batch, options, run.parallel.exchange);
  return {step, result.loss, result.grad_norm, result.tokens, lr, watch.seconds()};
}

void save(const Training& run) {
  const TrainOptions& o = run.options;
  dist::save_checkpoint(o.save, checkpoint_info(o, run.model.config(), run.data, run.optimizer.steps()),
                        run.model, run.optimizer, run.parallel.report, run.mesh.world());
}

/// All steps that are left, or as many as there are before an interrupt.
History train(const Training& run) {
  const TrainOptions& o = run.options;
  const std::vector<nn::Batch> held_out = validation_batches(run.data, run.model.config(), o, run.dp());
  Progress progress(run.optimizer.steps(), o.steps, run.speaks());
  History history;
  for (Index done = run.optimizer.steps() + 1; done <= o.steps; ++done) {
    if (run.interrupted()) {
      progress.line(fmt::format("interrupted after {} of {} steps", done - 1, o.steps));
      break;
    }
    history.steps.push_back(take_step(run, done - 1));
    run.accounts.step_done();
    progress.step(history.steps.back());
    if (done % o.steps_between_validations() == 0 || done == o.steps) {
      const double loss = nn::evaluate(run.model, held_out, run.parallel.exchange);
      nn::check_finite("validation loss", loss, done);
      history.validation.push_back({done, loss});
      progress.line(fmt::format("step {}  {}", done, validation_text(o, loss)));
    }
    if (o.save_every && done % *o.save_every == 0 && done < o.steps) save(run);
  }
  run.accounts.settle();
  return history;
}

/// What all ranks could reach together: rank 0's best rate, alone, for each rank that has cores of its own.
double peak_gemm(const TrainOptions& options, const dist::Comm& world) {
  double peak = 0;
  if (world.rank() == 0) peak = gemm_peak(options.dtype);
  const double threads = context().threads * world.ranks_on_node();
  return dist::max(world, peak) * world.size() * std::min(1.0, world.cores_on_node() / threads);
}

/// Table, loss curve and files.
void finish(const Training& run, const History& history) {
  const TrainOptions& o = run.options;
  if (!o.save.empty()) save(run);
  const dist::RankAccount account =
      rank_account(run.accounts, run.mesh, run.model,
                   predicted_memory(o, run.model.config(), run.mesh, run.mesh.world().rank()));
  const TrainReport report = {o,
                              run.model.config(),
                              run.mesh,
                              history,
                              dist::gather_accounts(run.mesh.world(), account),
                              context().ledger,
                              peak_gemm(o, run.mesh.world())};
  std::vector<std::string> timeline;
  if (o.wants_timeline()) timeline = dist::gather_texts(run.mesh.world(), run.accounts.timeline());
  if (!run.speaks()) return;
  print_report(report);
  if (!o.json.empty()) write_file(o.json, to_json(report).dump(1) + "\n");
  if (!o.trace.empty()) write_timeline(o.trace, timeline, report.ranks);
  if (!o.report.empty()) write_file(o.report, train_page(report, run.parallel.report, timeline));
  if (!o.save.empty()) fmt::print("model saved in {}\n", o.save);
  if (!o.json.empty()) fmt::print("measurements in {}\n", o.json);
  if (!o.trace.empty()) fmt::print("timeline in {}, for ui.perfetto.dev\n", o.trace);
  if (!o.report.empty()) fmt::print("report in {}, for a browser\n", o.report);
}

int run(const TrainOptions& options, const dist::Comm& world) {
  dist::diagnose(world, options.diagnosis);
  use_threads(options.threads, world);
  const nn::ModelConfig config = configure(options.model);
  const nn::Dataset data = open_data(options.data, config);
  if (!options.network.empty()) dist::set_network(world, read_network(options.network));
  const dist::Mesh mesh(world, options.degrees);
  std::optional<nn::Checkpoint> checkpoint;
  if (!options.resume.empty()) checkpoint = open_checkpoint(options, config, data);
  nn::Transformer model(config);
  check_memory(model, {sequences_here(options, mesh.axis("dp")), options.microbatches, options.dtype,
                       options.optimizer, options.zero, mesh.axis("shard").size()});
  on_first_rank(world, [&] {
    check_writable_file("--json", options.json);
    check_writable_file("--trace", options.trace);
    check_writable_file("--report", options.report);
    check_writable_folder("--save", options.save);
  });

  dist::Parallel parallel = dist::parallelize(model, mesh,
                                              {.seed = options.seed,
                                               .dtype = options.dtype,
                                               .zero = options.zero,
                                               .bucket_bytes = bytes_of_mb(options.bucket_mb),
                                               .collectives = {.algorithm = options.algorithm}});
  model.set_recompute(options.recompute);
  dist::Accountant accounts(world, options.wants_timeline() ? kTracedSteps : 0);
  nn::Optimizer optimizer(model.parameters(), options.optimizer);
  if (checkpoint) {
    checkpoint->load(model.parameters());
    checkpoint->load(optimizer);
  }
  const Training training = {options, mesh, data, model, parallel, optimizer, accounts};
  if (training.speaks()) {
    print_header(options, config, nn::count_elements(model.parameters()), data, mesh);
    if (world.size() > 1) fmt::print("What rank 0 holds\n{}\n", dist::to_string(parallel.report));
  }
  try {
    const History history = train(training);
    finish(training, history);
    return optimizer.steps() < options.steps ? kInterrupted : 0;
  } catch (const nn::NonFiniteError& error) {
    if (training.speaks()) fmt::print(stderr, "train: {}\n", error.what());
    return 1;
  }
}

}  // namespace
}  // namespace tessera

int main(int argc, char** argv) {
  tessera::TrainOptions options;
  return tessera::run_on_ranks(
      argc, argv, {"train", "Trains a transformer on a text."},
      [&](CLI::App& app) { add_flags(app, options); },
      [&](const tessera::dist::Comm& world) { return tessera::run(options, world); });
}
