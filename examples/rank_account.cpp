#include "examples/rank_account.h"

#include <fmt/format.h>

#include <sstream>

#include "dist/trace/chrome_trace.h"
#include "examples/files.h"
#include "examples/process.h"

namespace tessera {
namespace {

Index used_elements(const nn::Transformer& model) {
  Index elements = 0;
  for (const nn::ParameterPtr& p : model.parameters()) elements += p->used.shape.numel();
  return elements;
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
                               const nn::Transformer& model, const plan::LedgerBytes& predicted) {
  const int rank = mesh.world().rank();
  dist::RankAccount account{.rank = rank,
                            .node = host_name(),
                            .steps = accounts.steps(),
                            .comm = accounts.comm(),
                            .memory = accounts.memory(),
                            .peak_rss_bytes = peak_rss_bytes(),
                            .parameters = used_elements(model),
                            .events_per_step = accounts.events_per_step(),
                            .event_cost_s = accounts.event_cost_s(),
                            .clock_error_s = accounts.clock_error_s()};
  for (const auto& [axis, value] : mesh.coords(rank)) account.coords.emplace_back(axis, value);
  const auto formula = [&](Category category) -> double& {
    return account.memory[static_cast<std::size_t>(category)].formula;
  };
  formula(Category::parameter) = predicted.parameter;
  formula(Category::gradient) = predicted.gradient;
  formula(Category::optimizer) = predicted.optimizer;
  formula(Category::activation) = predicted.activation;
  formula(Category::communication) = predicted.communication;
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
