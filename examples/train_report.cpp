#include "examples/train_report.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <numbers>

#include "dist/comm/rank_table.h"
#include "dist/plan/run_file.h"
#include "dist/trace/account_json.h"
#include "dist/trace/report.h"
#include "examples/loss_plot.h"
#include "examples/text.h"

namespace tessera {
namespace {

using nlohmann::json;

void row(const char* what, const std::string& value) { fmt::print("{:<16}{}\n", what, value); }

std::string describe(const nn::ModelConfig& c) {
  const std::string size =
      fmt::format("{} layers, dim {}, {} heads ({} of keys and values), context {}, vocab {}", c.layers,
                  c.dim, c.heads, c.kv_heads, c.context, c.vocab);
  return fmt::format("{}: {}, {} MLP of {}, {} norm, {} positions", c.name, size, to_string(c.mlp), c.ffn_dim,
                     to_string(c.norm), to_string(c.position));
}

/// A step, and what rank 0 spent it on.
json step_json(const StepRecord& r, const dist::StepParts& parts) {
  json step = parts;
  step.update({{"step", r.step},
               {"loss", r.loss},
               {"grad_norm", r.grad_norm},
               {"tokens", r.tokens},
               {"lr", r.lr},
               {"tokens_per_s", static_cast<double>(r.tokens) / parts.step_s}});
  return step;
}

json config_json(const TrainOptions& o, const nn::ModelConfig& config) {
  return {{"model", nn::to_json(config)},
          {"data", o.data},
          {"batch", o.batch},
          {"steps", o.steps},
          {"eval_every", o.steps_between_validations()},
          {"lr", o.lr},
          {"warmup", o.warmup},
          {"lr_decay", nn::to_string(o.lr_decay)},
          {"optimizer", nn::to_string(o.optimizer.kind)},
          {"momentum", o.optimizer.momentum},
          {"weight_decay", o.optimizer.weight_decay},
          {"clip", o.clip},
          {"seed", o.seed},
          {"dtype", to_string(o.dtype)},
          {"threads", context().threads}};
}

json layout_json(const TrainOptions& o, const dist::Mesh& mesh) {
  const dist::Degrees& d = mesh.degrees();
  json layout = {{"dp", d.dp}, {"tp", d.tp}, {"pp", d.pp}, {"cp", d.cp}, {"ep", d.ep}, {"zero", o.zero}};
  layout["shard"] = d.shard;
  layout["bucket_mb"] = o.bucket_mb;
  layout["ranks"] = mesh.world().size();
  layout["algorithm"] = dist::to_string(o.algorithm);
  layout["microbatches"] = o.microbatches;
  layout["recompute"] = nn::to_string(o.recompute);
  return layout;
}

}  // namespace

double TrainReport::mfu() const {
  const double step_s = parts().step_s;
  return step_s > 0 ? nn::training_flops(config, options.batch) / step_s / peak_gemm_flops : 0;
}

void print_header(const TrainOptions& o, const nn::ModelConfig& config, Index parameters,
                  const nn::Dataset& data, const dist::Mesh& mesh) {
  row("model", describe(config));
  row("parameters", fmt::format("{} in {}", grouped(parameters), to_string(o.dtype)));
  row("data", fmt::format("{}: {} tokens to train on, {} held out", o.data.empty() ? "built-in text" : o.data,
                          grouped(data.num_train_tokens()), grouped(data.num_validation_tokens())));
  row("step", fmt::format("{} sequences, {} tokens", o.batch, grouped(o.batch * config.context)));
  const int ranks = mesh.world().size();
  if (ranks > 1) row("layout", fmt::format("{} ranks: {}", ranks, dist::to_string(mesh.degrees())));
  row("threads", fmt::format("{}{}", context().threads, ranks > 1 ? " per rank" : ""));
  if (ranks > 1) fmt::print("\nWhere each rank is\n{}", rank_table(mesh.degrees(), mesh.world().nodes()));
  fmt::print("\n");
}

std::string validation_text(const TrainOptions& options, double loss) {
  const char* token = options.bytes_as_tokens() ? "byte" : "token";
  return fmt::format("validation loss {:.4f} nats per {}, {:.4f} bits per {}", loss, token,
                     loss / std::numbers::ln2, token);
}

void print_report(const TrainReport& r) {
  const dist::StepParts parts = r.parts();
  fmt::print("\n");
  if (!r.history.validation.empty())
    row("result", validation_text(r.options, r.history.validation.back().loss));
  const auto tokens = static_cast<double>(r.options.batch * r.config.context);
  row("speed", grouped(static_cast<Index>(tokens / parts.step_s)) + " tokens/s");
  row("step time", dist::parts_text(parts));
  row("MFU",
      fmt::format("{:.1f} % of the best matrix product, {}", 100 * r.mfu(), rate_text(r.peak_gemm_flops)));
  row("peak memory", peaks_text(r.ledger));
  row("peak RSS", bytes_text(r.ranks[0].peak_rss_bytes));
  const dist::RankAccount& rank = r.ranks[0];
  row("accounting",
      fmt::format("{:.0f} events per step of {:.0f} ns: {:.3f} % of it", rank.events_per_step,
                  rank.event_cost_s * 1e9, 100 * rank.events_per_step * rank.event_cost_s / parts.step_s));
  if (r.ranks.size() > 1)
    fmt::print("\nWhere each rank's step went\n{}\nWhat was sent\n{}", dist::step_table(r.ranks),
               dist::comm_table(r.ranks[0].comm));
  fmt::print("\n{}", dist::memory_table(r.ranks[0]));
  fmt::print("\n{}", plot_loss(r.history));
}

plan::LedgerBytes predicted_memory(const TrainOptions& options, const nn::ModelConfig& config,
                                   const dist::Mesh& mesh, int rank) {
  const json run = {{"config", config_json(options, config)}, {"layout", layout_json(options, mesh)}};
  return plan::ledger_bytes(plan::ledger_input(run, rank));
}

json to_json(const TrainReport& r) {
  json steps = json::array(), validation = json::array();
  for (std::size_t i = 0; i < r.history.steps.size(); ++i)
    steps.push_back(step_json(r.history.steps[i], r.ranks[0].steps[i].parts));
  for (const ValidationRecord& record : r.history.validation) {
    validation.push_back({{"step", record.step}, {"loss", record.loss}});
  }
  return {{"config", config_json(r.options, r.config)},
          {"layout", layout_json(r.options, r.mesh)},
          {"steps", steps},
          {"validation", validation},
          {"ranks", r.ranks},
          {"comm", r.ranks[0].comm},
          {"mfu", r.mfu()},
          {"peak_gemm_flops", r.peak_gemm_flops}};
}

}  // namespace tessera
