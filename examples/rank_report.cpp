#include "examples/rank_report.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "dist/comm/collectives.h"
#include "examples/text.h"

namespace tessera {
namespace {

using nlohmann::json;

constexpr std::size_t kNodeBytes = 64, kNumTimes = 6;

std::vector<double> numbers_of(const RankReport& r) {
  const StepTimes& t = r.times;
  std::vector<double> numbers = {t.step_s,      t.compute_s, t.communication_s,
                                 t.optimizer_s, t.data_s,    t.other_s};
  for (const Index bytes : r.peak_bytes) numbers.push_back(static_cast<double>(bytes));
  numbers.push_back(static_cast<double>(r.peak_rss_bytes));
  numbers.push_back(static_cast<double>(r.parameters));
  return numbers;
}

RankReport report_from(std::span<const double> numbers, std::string node) {
  const auto at = [&](std::size_t i) { return static_cast<Index>(numbers[i]); };
  RankReport r = {
      std::move(node), {numbers[0], numbers[1], numbers[2], numbers[3], numbers[4], numbers[5]}, {}, 0, 0};
  for (int i = 0; i < kNumCategories; ++i)
    r.peak_bytes.push_back(at(kNumTimes + static_cast<std::size_t>(i)));
  r.peak_rss_bytes = at(numbers.size() - 2);
  r.parameters = at(numbers.size() - 1);
  return r;
}

/// Each rank's row of `values`, one after the other.
template <class T>
std::vector<T> gather_rows(const dist::Comm& world, const std::vector<T>& row) {
  std::vector<T> rows(row.size() * static_cast<std::size_t>(world.size()));
  std::ranges::copy(row, rows.begin() + std::ssize(row) * world.rank());
  dist::all_gather(world, rows);
  return rows;
}

template <class Visit>
void visit_comms(const dist::Mesh& mesh, Visit&& visit) {
  visit(mesh.world());
  for (const dist::Comm& comm : mesh.comms()) visit(comm);
}

}  // namespace

std::vector<RankReport> gather(const dist::Comm& world, const RankReport& mine) {
  const std::vector<double> row = numbers_of(mine), rows = gather_rows(world, row);
  std::vector<std::int32_t> name(mine.node.begin(), mine.node.end());
  name.resize(kNodeBytes);
  const std::vector<std::int32_t> names = gather_rows(world, name);
  std::vector<RankReport> ranks;
  for (std::size_t rank = 0; rank < static_cast<std::size_t>(world.size()); ++rank) {
    const std::span<const double> numbers(rows.data() + rank * row.size(), row.size());
    std::string node;
    for (std::size_t i = rank * kNodeBytes; i < (rank + 1) * kNodeBytes && names[i] != 0; ++i) {
      node += static_cast<char>(names[i]);
    }
    ranks.push_back(report_from(numbers, std::move(node)));
  }
  return ranks;
}

void print_ranks(const std::vector<RankReport>& ranks) {
  fmt::print("\nrank  node          step ms  compute  communication  optimizer   data  other  peak RSS\n");
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    const RankReport& r = ranks[rank];
    const StepTimes& t = r.times;
    fmt::print("{:4}  {:<12} {:8.1f} {:8.1f} {:14.1f} {:10.1f} {:6.1f} {:6.1f}  {}\n", rank,
               r.node.substr(0, 12), t.step_s * 1e3, t.compute_s * 1e3, t.communication_s * 1e3,
               t.optimizer_s * 1e3, t.data_s * 1e3, t.other_s * 1e3, bytes_text(r.peak_rss_bytes));
  }
  fmt::print("(medians; communication includes waiting for slower ranks)\n");
}

json ranks_json(const std::vector<RankReport>& ranks, const dist::Mesh& mesh) {
  json result = json::array();
  for (const RankReport& r : ranks) {
    json peaks;
    for (int i = 0; i < kNumCategories; ++i) {
      peaks[to_string(static_cast<Category>(i))] = r.peak_bytes[static_cast<std::size_t>(i)];
    }
    json coords;
    for (const auto& [axis, value] : mesh.coords(static_cast<int>(result.size()))) coords[axis] = value;
    result.push_back({{"rank", result.size()},
                      {"node", r.node},
                      {"coords", coords},
                      {"peak_bytes", peaks},
                      {"peak_rss_bytes", r.peak_rss_bytes},
                      {"parameters", r.parameters}});
  }
  return result;
}

json comm_json(const dist::Mesh& mesh) {
  json result = json::array();
  visit_comms(mesh, [&](const dist::Comm& comm) {
    for (int kind = 0; kind < dist::kNumKinds; ++kind) {
      for (int algorithm = 0; algorithm < dist::kNumAlgorithms; ++algorithm) {
        const auto op = static_cast<dist::Kind>(kind);
        const auto how = static_cast<dist::Algorithm>(algorithm);
        const dist::Counter& counter = comm.counter(op, how);
        if (counter.calls == 0) continue;
        result.push_back({{"op", dist::to_string(op)},
                          {"axis", comm.name().axis},
                          {"purpose", comm.name().purpose},
                          {"algorithm", dist::to_string(how)},
                          {"calls", counter.calls},
                          {"messages", counter.messages_sent},
                          {"bytes", counter.bytes_sent},
                          {"seconds", counter.wait_s}});
      }
    }
  });
  return result;
}

double communication_s(const dist::Mesh& mesh) {
  double seconds = 0;
  visit_comms(mesh, [&](const dist::Comm& comm) { seconds += comm.counter().wait_s; });
  return seconds;
}

}  // namespace tessera
