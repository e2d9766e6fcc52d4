#include "dist/trace/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace tessera::dist {
namespace {

/// The parts of a step, as people read them.
struct ShownPart {
  const char *column, *text;
  double StepParts::*part;
  bool always;  ///< else only where it is not zero
};
constexpr ShownPart kShown[] = {{"compute", "compute", &StepParts::compute_s, true},
                                {"exposed", "exposed communication", &StepParts::exposed_comm_s, false},
                                {"waiting", "waiting for slower ranks", &StepParts::wait_s, false},
                                {"bubble", "pipeline bubble", &StepParts::bubble_s, false},
                                {"optimizer", "optimizer", &StepParts::optimizer_s, true},
                                {"data", "data", &StepParts::data_s, true},
                                {"other", "other", &StepParts::other_s, true}};

std::vector<ShownPart> shown_parts(const std::vector<StepParts>& all) {
  std::vector<ShownPart> shown;
  for (const ShownPart& part : kShown)
    if (part.always || std::ranges::any_of(all, [&](const StepParts& p) { return p.*part.part > 0; }))
      shown.push_back(part);
  return shown;
}

double mebibytes(double bytes) { return bytes / (1 << 20); }

/// "12 us", "3.4 ms"
std::string time_text(double seconds) {
  if (seconds < 1e-3) return fmt::format("{:.0f} us", seconds * 1e6);
  return seconds < 1 ? fmt::format("{:.2f} ms", seconds * 1e3) : fmt::format("{:.2f} s", seconds);
}

/// "512 B", "3.1 MB": bytes as rates count them.
std::string size_text(double bytes) {
  if (bytes < 1e3) return fmt::format("{:.0f} B", bytes);
  if (bytes < 1e6) return fmt::format("{:.1f} kB", bytes / 1e3);
  return bytes < 1e9 ? fmt::format("{:.1f} MB", bytes / 1e6) : fmt::format("{:.2f} GB", bytes / 1e9);
}

}  // namespace

std::string parts_text(const StepParts& parts) {
  std::string text = fmt::format("{:.1f} ms:", parts.step_s * 1e3);
  const auto percent = [&](double part_s) { return parts.step_s > 0 ? 100 * part_s / parts.step_s : 0; };
  for (const ShownPart& shown : shown_parts({parts}))
    text += fmt::format(" {} {:.1f} %,", shown.text, percent(parts.*shown.part));
  text.pop_back();
  if (parts.hidden_comm_s > 0)
    text += fmt::format("; beside them hidden communication {:.1f} %", percent(parts.hidden_comm_s));
  return text;
}

std::string step_table(const std::vector<RankAccount>& ranks) {
  std::vector<StepParts> means;
  for (const RankAccount& rank : ranks) means.push_back(rank.mean());
  const std::vector<ShownPart> shown = shown_parts(means);

  std::string text = fmt::format("{:>4}  {:<12}{:>9}", "rank", "node", "step ms");
  for (const ShownPart& part : shown) text += fmt::format("{:>11}", part.column);
  text += fmt::format("{:>11}{:>12}\n", "(hidden)", "peak RSS");
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    text += fmt::format("{:>4}  {:<12}{:>9.2f}", ranks[i].rank, ranks[i].node.substr(0, 12),
                        means[i].step_s * 1e3);
    for (const ShownPart& part : shown) text += fmt::format("{:>11.2f}", means[i].*part.part * 1e3);
    text += fmt::format("{:>11.2f}{:>8.1f} MiB\n", means[i].hidden_comm_s * 1e3,
                        mebibytes(static_cast<double>(ranks[i].peak_rss_bytes)));
  }
  return text + "(means over all steps but the first two; hidden: communication during the others)\n";
}

std::string comm_table(const std::vector<CommAccount>& accounts) {
  if (accounts.empty()) return "";
  std::string text =
      fmt::format("{:<16}{:<18}{:<20}{:>6}{:>7}{:>10}{:>11}{:>11}{:>12}{:>12}\n", "operation", "axis",
                  "algorithm", "ranks", "calls", "of", "took", "predicted", "algbw", "busbw");
  for (const CommAccount& a : accounts) {
    const auto calls = static_cast<double>(a.calls);
    text += fmt::format("{:<16}{:<18}{:<20}{:>6}{:>7}{:>10}{:>11}{:>11}{:>10}/s{:>10}/s\n", a.op,
                        a.axis + (a.purpose.empty() ? "" : " ") + a.purpose, a.algorithm, a.ranks, a.calls,
                        size_text(static_cast<double>(a.buffer_bytes) / calls), time_text(a.seconds / calls),
                        a.predicted_s > 0 ? time_text(a.predicted_s / calls) : "-", size_text(a.algbw()),
                        size_text(a.busbw()));
  }
  return text + "(of rank 0, means per call; took: from when the last participant had begun)\n";
}

std::string memory_table(const RankAccount& rank) {
  std::string text = fmt::format("{:<15}{:>12}{:>12}{:>12}\n", "memory, MiB", "now", "peak", "formula");
  for (std::size_t i = 0; i < rank.memory.size(); ++i) {
    const MemoryAccount& memory = rank.memory[i];
    if (memory.peak == 0) continue;
    text += fmt::format("{:<15}{:>12.2f}{:>12.2f}{:>12}\n", to_string(static_cast<Category>(i)),
                        mebibytes(static_cast<double>(memory.current)),
                        mebibytes(static_cast<double>(memory.peak)),
                        memory.formula >= 0 ? fmt::format("{:.2f}", mebibytes(memory.formula)) : "-");
  }
  return text;
}

}  // namespace tessera::dist
