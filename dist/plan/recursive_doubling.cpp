#include "dist/plan/recursive_doubling.h"

#include <bit>

namespace tessera::plan {
namespace {

// A power of two of ranks are active. Each of the others is passive: the odd ones of the first `extra` pairs.
struct Roles {
  int active, extra;

  explicit Roles(int ranks)
      : active(static_cast<int>(std::bit_floor(static_cast<unsigned>(ranks)))), extra(ranks - active) {}

  bool paired(int rank) const { return rank < 2 * extra; }
  bool passive(int rank) const { return paired(rank) && rank % 2 == 1; }

  int partner(int rank, int distance) const {
    const int i = (paired(rank) ? rank / 2 : rank - extra) ^ distance;  // counts active ranks only
    return i < extra ? 2 * i : i + extra;
  }
};

}  // namespace

Rounds recursive_doubling_all_reduce(int rank, int ranks, Index count) {
  require_rank("recursive_doubling_all_reduce", rank, ranks);
  require_count("recursive_doubling_all_reduce", count);
  const Roles roles(ranks);
  const Range all{0, count};

  Round fold, unfold;
  if (roles.passive(rank)) {
    fold = {{.send = all, .to = rank - 1}};
    unfold = {{.receive = all, .from = rank - 1}};
  } else if (roles.paired(rank)) {
    fold = {{.receive = all, .from = rank + 1, .combine = Combine::add}};
    unfold = {{.send = all, .to = rank + 1}};
  }

  Rounds rounds;
  if (roles.extra > 0) rounds.push_back(fold);
  for (int distance = 1; distance < roles.active; distance *= 2) {
    Round& round = rounds.emplace_back();
    if (roles.passive(rank)) continue;
    const int partner = roles.partner(rank, distance);
    round = {{.send = all, .to = partner, .receive = all, .from = partner, .combine = Combine::add}};
  }
  if (roles.extra > 0) rounds.push_back(unfold);
  return rounds;
}

Traffic recursive_doubling_all_reduce_traffic(int rank, int ranks, Index count) {
  require_rank("recursive_doubling_all_reduce_traffic", rank, ranks);
  require_count("recursive_doubling_all_reduce_traffic", count);
  const Roles roles(ranks);
  const int exchanges = roles.passive(rank) ? 0 : std::countr_zero(static_cast<unsigned>(roles.active));
  const Volume volume = (exchanges + (roles.paired(rank) ? 1 : 0)) * volume_of({0, count});
  return {volume, volume};
}

}  // namespace tessera::plan
