#include "examples/rank_account.h"

#include <fmt/format.h>

#include <sstream>

#include "dist/trace/chrome_trace.h"
#include "examples/files.h"
#include "examples/process.h"

namespace tessera {
namespace {

void count_elements_into(dist::TrainingShape& shape, const nn::Transformer& model) {
  for (const nn::ParameterPtr& p : model.parameters()) {
    shape.used += p->used.shape.numel();
    shape.owned += p->owned.shape.numel();
  }
  shape.block = nn::count_elements(model.blocks.front()->parameters());
  shape.ends = shape.used - shape.block * std::ssize(model.blocks);
}

/// "rank 3: dp 1, tp 1 on host"
std::string timeline_name(const dist::RankAccount& account) {
  std::string text = fmt::format("rank {}", account.rank);
  for (const char* separator = ": "; const auto& [axis, value] : account.coords) {
    text += fmt::format("{}{} {}", separator, axis, value);
    separator = ", ";
  }
  return text + " on " + account.node;
}

}  // namespace

dist::RankAccount rank_account(const dist::Accountant& accounts, const dist::Mesh& mesh,
                               const nn::Transformer& model, dist::TrainingShape shape) {
  count_elements_into(shape, model);
  const int rank = mesh.world().rank();
  dist::RankAccount account{.rank = rank,
                            .node = host_name(),
                            .steps = accounts.steps(),
                            .comm = accounts.comm(),
                            .memory = accounts.memory(),
                            .peak_rss_bytes = peak_rss_bytes(),
                            .parameters = shape.used,
                            .events_per_step = accounts.events_per_step(),
                            .event_cost_s = accounts.event_cost_s(),
                            .clock_error_s = accounts.clock_error_s()};
  for (const auto& [axis, value] : mesh.coords(rank)) account.coords.emplace_back(axis, value);
  const auto formula = dist::memory_formula(model.config(), shape);
  for (std::size_t i = 0; i < account.memory.size(); ++i) account.memory[i].formula = formula[i];
  return account;
}

void write_timeline(const std::string& path, const std::vector<std::string>& timeline,
                    const std::vector<dist::RankAccount>& ranks) {
  std::vector<std::string> names;
  for (const dist::RankAccount& account : ranks) names.push_back(timeline_name(account));
  std::ostringstream text;
  dist::write_chrome_trace(text, timeline, names);
  write_file(path, text.str());
}

}  // namespace tessera
