#include "dist/plan/recursive_doubling.h"

#include "dist/plan/fold_internal.h"

namespace tessera::plan {

Rounds recursive_doubling_all_reduce(int rank, int ranks, Index count) {
  require_rank("recursive_doubling_all_reduce", rank, ranks);
  require_count("recursive_doubling_all_reduce", count);
  const Fold fold(ranks);
  const Range all{0, count};

  Rounds rounds;
  for (int distance = 1; distance < fold.active; distance *= 2) {
    const int partner = fold.rank(fold.index(rank) ^ distance);
    rounds.push_back(
        {{.send = all, .to = partner, .receive = all, .from = partner, .combine = Combine::add}});
  }
  return fold_around(fold, rank, std::move(rounds), all, Combine::add, all);
}

Traffic recursive_doubling_all_reduce_traffic(int rank, int ranks, Index count) {
  require_rank("recursive_doubling_all_reduce_traffic", rank, ranks);
  require_count("recursive_doubling_all_reduce_traffic", count);
  const Fold fold(ranks);
  const int exchanges = fold.passive(rank) ? 0 : fold.num_exchanges();
  const Volume volume = (exchanges + (fold.paired(rank) ? 1 : 0)) * volume_of({0, count});
  return {volume, volume};
}

}  // namespace tessera::plan
