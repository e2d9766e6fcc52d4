#include "dist/plan/price.h"

#include <algorithm>

namespace tessera::plan {
namespace {

/// The busier direction of one rank's round.
Volume busier(const Round& round) {
  const Traffic both = traffic({round});
  return {std::max(both.sent.messages, both.received.messages),
          std::max(both.sent.elements, both.received.elements)};
}

/// A call with one element in each part; what is summed or copied whole has one for each rank.
Call even_call(Kind kind, int rank, int ranks) {
  Call call = {.kind = kind, .rank = rank, .ranks = ranks, .count = ranks};
  if (kind == Kind::barrier) call.count = 1;
  if (kind == Kind::reduce_scatter || kind == Kind::all_gather || kind == Kind::gather ||
      kind == Kind::scatter)
    call.parts = shares(ranks, ranks);
  if (kind == Kind::all_to_all) {
    call.count = 2 * ranks;
    call.parts = shares(2 * ranks, 2 * ranks);
  }
  return call;
}

}  // namespace

Path longest_path(const std::vector<Rounds>& by_rank, double count) {
  Path path;
  for (std::size_t r = 0; r < by_rank.front().size(); ++r) {
    Volume busiest;
    for (const Rounds& rounds : by_rank) {
      const Volume here = busier(rounds[r]);
      busiest = {std::max(busiest.messages, here.messages), std::max(busiest.elements, here.elements)};
    }
    path.messages += static_cast<double>(busiest.messages);
    path.arrays += static_cast<double>(busiest.elements) / count;
  }
  return path;
}

std::pair<Rounds, double> even_rounds(Kind kind, Algorithm algorithm, int rank, int ranks) {
  const Call call = even_call(kind, rank, ranks);
  const double own = static_cast<double>(kind == Kind::all_to_all ? ranks : call.count);
  return {schedule(call, algorithm).rounds, kind == Kind::all_to_all ? own * ranks : own};
}

Path path_of(Kind kind, Algorithm algorithm, int ranks) {
  const auto [rounds, count] = even_rounds(kind, algorithm, 0, ranks);
  return longest_path({rounds}, count);
}

std::vector<Algorithm> priced_algorithms(Kind kind) {
  std::vector<Algorithm> all = algorithms_of(kind);
  std::erase(all, Algorithm::hierarchical);
  return all;
}

const Path& Prices::path(Kind kind, Algorithm algorithm, int ranks) {
  const auto key = std::make_pair(std::make_pair(kind, algorithm), ranks);
  const auto found = paths_.find(key);
  return found != paths_.end() ? found->second : paths_[key] = path_of(kind, algorithm, ranks);
}

}  // namespace tessera::plan
