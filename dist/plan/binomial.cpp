#include "dist/plan/binomial.h"

#include <algorithm>
#include <bit>

namespace tessera::plan {
namespace {

void require_tree(const char* op, int rank, int ranks, int root, Index count) {
  require_rank(op, rank, ranks);
  require_rank(op, root, ranks);
  require_count(op, count);
}

}  // namespace

Rounds binomial_broadcast(int rank, int ranks, int root, Index count) {
  require_tree("binomial_broadcast", rank, ranks, root, count);
  const Range all{0, count};
  const int v = (rank - root + ranks) % ranks;
  Rounds rounds;
  // Before a round, the multiples of 2 * distance have the data; after it, the multiples of distance.
  for (int distance = std::bit_ceil(static_cast<unsigned>(ranks)) / 2; distance > 0; distance /= 2) {
    Round& round = rounds.emplace_back();
    if (v % (2 * distance) == 0 && v + distance < ranks)
      round = {{.send = all, .to = (rank + distance) % ranks}};
    if (v % (2 * distance) == distance) round = {{.receive = all, .from = (rank - distance + ranks) % ranks}};
  }
  return rounds;
}

Traffic binomial_broadcast_traffic(int rank, int ranks, int root, Index count) {
  require_tree("binomial_broadcast_traffic", rank, ranks, root, count);
  const auto v = static_cast<unsigned>((rank - root + ranks) % ranks), p = static_cast<unsigned>(ranks);
  // Children v + 2^i with 2^i below the lowest set bit of v, and below p - v.
  const int children = std::min(std::countr_zero(v), static_cast<int>(std::bit_width(p - v - 1)));
  const Volume message = volume_of({0, count});
  return {children * message, (v == 0 ? 0 : 1) * message};
}

Rounds binomial_reduce(int rank, int ranks, int root, Index count) {
  require_tree("binomial_reduce", rank, ranks, root, count);
  Rounds rounds = binomial_broadcast(rank, ranks, root, count);
  std::ranges::reverse(rounds);
  for (Round& round : rounds)
    for (Step& step : round)
      step = {.send = step.receive,
              .to = step.from,
              .receive = step.send,
              .from = step.to,
              .combine = Combine::add};
  return rounds;
}

Traffic binomial_reduce_traffic(int rank, int ranks, int root, Index count) {
  const auto [sent, received] = binomial_broadcast_traffic(rank, ranks, root, count);
  return {received, sent};
}

}  // namespace tessera::plan
