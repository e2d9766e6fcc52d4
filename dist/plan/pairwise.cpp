#include "dist/plan/pairwise.h"

#include "dist/plan/require.h"

namespace tessera::plan {
namespace {

void require_exchange(const char* op, int rank, const std::vector<Range>& sends,
                      const std::vector<Range>& receives) {
  require(sends.size() == receives.size(), op, sends.size(), " ranges to send, ", receives.size(),
          " to receive");
  std::vector<Range> all = sends;
  all.insert(all.end(), receives.begin(), receives.end());
  require_parts(op, rank, all);
  require_rank(op, rank, static_cast<int>(sends.size()));
  require(sends[rank].size == receives[rank].size, op, "rank ", rank, " has ", sends[rank].size,
          " elements for itself, but expects ", receives[rank].size);
}

Volume all_but(int rank, const std::vector<Range>& ranges) {
  Volume volume;
  for (int i = 0; i < std::ssize(ranges); ++i)
    if (i != rank) volume = volume + volume_of(ranges[i]);
  return volume;
}

}  // namespace

Rounds pairwise_all_to_all(int rank, const std::vector<Range>& sends, const std::vector<Range>& receives) {
  require_exchange("pairwise_all_to_all", rank, sends, receives);
  const int ranks = static_cast<int>(sends.size());
  Rounds rounds;
  for (int s = 1; s < ranks; ++s) {
    const int to = (rank + s) % ranks, from = (rank - s + ranks) % ranks;
    rounds.push_back({{.send = sends[to], .to = to, .receive = receives[from], .from = from}});
  }
  rounds.push_back({copy_here(sends[rank], receives[rank])});  // last, while messages are on their way
  return rounds;
}

Traffic pairwise_all_to_all_traffic(int rank, const std::vector<Range>& sends,
                                    const std::vector<Range>& receives) {
  require_exchange("pairwise_all_to_all_traffic", rank, sends, receives);
  return {all_but(rank, sends), all_but(rank, receives)};
}

Rounds pairwise_reduce_scatter(int rank, const std::vector<Range>& parts) {
  require_parts("pairwise_reduce_scatter", rank, parts);
  const int ranks = static_cast<int>(parts.size());
  Rounds rounds;
  for (int s = 1; s < ranks; ++s) {
    const int to = (rank + s) % ranks, from = (rank - s + ranks) % ranks;
    rounds.push_back(
        {{.send = parts[to], .to = to, .receive = parts[rank], .from = from, .combine = Combine::add}});
  }
  return rounds;
}

Traffic pairwise_reduce_scatter_traffic(int rank, const std::vector<Range>& parts) {
  require_parts("pairwise_reduce_scatter_traffic", rank, parts);
  return {all_but(rank, parts), (std::ssize(parts) - 1) * volume_of(parts[rank])};
}

}  // namespace tessera::plan
