#include "dist/plan/ring.h"

#include <algorithm>

#include "dist/plan/binomial.h"

namespace tessera::plan {
namespace {

// Part i modulo ranks, for i >= -ranks.
const Range& part(const std::vector<Range>& parts, int i) {
  const int ranks = static_cast<int>(parts.size());
  return parts[(i + ranks) % ranks];
}

// Once round the ring: the rank sends part `first`, then in every round what it received in the round before.
Rounds circulate(int rank, const std::vector<Range>& parts, int first, Combine combine) {
  const int ranks = static_cast<int>(parts.size());
  const int next = (rank + 1) % ranks, previous = (rank + ranks - 1) % ranks;
  Rounds rounds;
  for (int s = 0; s < ranks - 1; ++s)
    rounds.push_back({{.send = part(parts, first - s),
                       .to = next,
                       .receive = part(parts, first - s - 1),
                       .from = previous,
                       .combine = combine}});
  return rounds;
}

// What sending each part but one comes to.
Volume all_but(int skipped, const std::vector<Range>& parts) {
  Volume volume;
  for (int i = 1; i < static_cast<int>(parts.size()); ++i)
    volume = volume + volume_of(part(parts, skipped + i));
  return volume;
}

// Rank i's share where the first belongs to the root, as a binomial scatter leaves them.
std::vector<Range> shares_from(int root, int ranks, Index count) {
  std::vector<Range> parts = shares(count, ranks);
  std::ranges::rotate(parts, parts.end() - root);
  return parts;
}

}  // namespace

// A part starts at the rank after its owner, so it comes home last, with every rank's contribution.
Rounds ring_reduce_scatter(int rank, const std::vector<Range>& parts) {
  require_parts("ring_reduce_scatter", rank, parts);
  return circulate(rank, parts, rank - 1, Combine::add);
}

Traffic ring_reduce_scatter_traffic(int rank, const std::vector<Range>& parts) {
  require_parts("ring_reduce_scatter_traffic", rank, parts);
  return {all_but(rank, parts), all_but(rank - 1, parts)};
}

Rounds ring_all_gather(int rank, const std::vector<Range>& parts) {
  require_parts("ring_all_gather", rank, parts);
  return circulate(rank, parts, rank, Combine::copy);
}

Traffic ring_all_gather_traffic(int rank, const std::vector<Range>& parts) {
  require_parts("ring_all_gather_traffic", rank, parts);
  return {all_but(rank + 1, parts), all_but(rank, parts)};
}

Rounds ring_all_reduce(int rank, int ranks, Index count) {
  require_rank("ring_all_reduce", rank, ranks);
  const std::vector<Range> parts = shares(count, ranks);
  return concatenate(ring_reduce_scatter(rank, parts), ring_all_gather(rank, parts));
}

Traffic ring_all_reduce_traffic(int rank, int ranks, Index count) {
  require_rank("ring_all_reduce_traffic", rank, ranks);
  const std::vector<Range> parts = shares(count, ranks);
  return ring_reduce_scatter_traffic(rank, parts) + ring_all_gather_traffic(rank, parts);
}

Rounds ring_broadcast(int rank, int ranks, int root, Index count) {
  require_rank("ring_broadcast", rank, ranks);
  require_rank("ring_broadcast", root, ranks);
  const std::vector<Range> parts = shares_from(root, ranks, count);
  return concatenate(binomial_scatter(rank, root, sizes_of(parts)), ring_all_gather(rank, parts));
}

Traffic ring_broadcast_traffic(int rank, int ranks, int root, Index count) {
  require_rank("ring_broadcast_traffic", rank, ranks);
  require_rank("ring_broadcast_traffic", root, ranks);
  const std::vector<Range> parts = shares_from(root, ranks, count);
  return binomial_scatter_traffic(rank, root, sizes_of(parts)) + ring_all_gather_traffic(rank, parts);
}

Rounds ring_reduce(int rank, int ranks, int root, Index count) {
  require_rank("ring_reduce", rank, ranks);
  require_rank("ring_reduce", root, ranks);
  const std::vector<Range> parts = shares_from(root, ranks, count);
  return concatenate(ring_reduce_scatter(rank, parts), binomial_gather(rank, root, sizes_of(parts)));
}

Traffic ring_reduce_traffic(int rank, int ranks, int root, Index count) {
  require_rank("ring_reduce_traffic", rank, ranks);
  require_rank("ring_reduce_traffic", root, ranks);
  const std::vector<Range> parts = shares_from(root, ranks, count);
  return ring_reduce_scatter_traffic(rank, parts) + binomial_gather_traffic(rank, root, sizes_of(parts));
}

}  // namespace tessera::plan
