#include "dist/plan/halving_doubling.h"

#include <functional>

#include "dist/plan/fold_internal.h"

namespace tessera::plan {
namespace {

// An active rank's place in the cube. Its group of `size`, a power of two, is the positions that agree with
// its own in all but the last log2(size) bits, and has their blocks; the sibling makes up the next larger
// one.
struct Place {
  int position;
  const std::vector<Range>& blocks;  // of all positions

  Range group(int size) const { return at(position & -size, size); }
  Range sibling(int size) const { return at((position & -size) ^ size, size); }
  Range at(int first, int size) const { return hull(blocks, first, first + size); }
};

// Doubling; partner(size) is the rank to exchange with to make groups of `size` twice as large.
Rounds doubling(const Place& place, const std::function<int(int)>& partner) {
  Rounds rounds;
  for (int size = 1; size < std::ssize(place.blocks); size *= 2)
    rounds.push_back({{.send = place.group(size),
                       .to = partner(size),
                       .receive = place.sibling(size),
                       .from = partner(size)}});
  return rounds;
}

Traffic doubling_traffic(const Place& place) {
  Traffic traffic;
  for (int size = 1; size < std::ssize(place.blocks); size *= 2)
    traffic = traffic + Traffic{volume_of(place.group(size)), volume_of(place.sibling(size))};
  return traffic;
}

// The block of each active rank: its own and that of the passive rank after it.
std::vector<Range> active_blocks(const Fold& fold, const std::vector<Range>& blocks) {
  std::vector<Range> result;
  for (int i = 0; i < fold.active; ++i) result.push_back(hull(blocks, fold.rank(i), fold.rank(i + 1)));
  return result;
}

std::vector<Range> checked_blocks(const char* op, int rank, const std::vector<Index>& sizes) {
  std::vector<Range> blocks = in_a_row(sizes);
  require_parts(op, rank, blocks);
  return blocks;
}

int reverse_bits(int index, int num_bits) {
  int result = 0;
  for (int bit = 0; bit < num_bits; ++bit) result |= ((index >> bit) & 1) << (num_bits - 1 - bit);
  return result;
}

// All-reduce gives the active rank of a number the share whose bits are reversed: so the first halves to be
// exchanged are those of neighbours.
int share_of(const Fold& fold, int rank) { return reverse_bits(fold.index(rank), fold.num_exchanges()); }

}  // namespace

Rounds doubling_all_gather(int rank, const std::vector<Index>& sizes) {
  const std::vector<Range> blocks = checked_blocks("doubling_all_gather", rank, sizes);
  const Fold fold(static_cast<int>(sizes.size()));
  const std::vector<Range> active = active_blocks(fold, blocks);
  const Range all = hull(active, 0, fold.active);
  const int index = fold.index(rank);

  const Rounds exchanges = doubling({index, active}, [&](int size) { return fold.rank(index ^ size); });
  const Range given = fold.paired(rank) ? blocks[rank | 1] : Range{};
  return fold_around(fold, rank, exchanges, given, Combine::copy, all);
}

Traffic doubling_all_gather_traffic(int rank, const std::vector<Index>& sizes) {
  const std::vector<Range> blocks = checked_blocks("doubling_all_gather_traffic", rank, sizes);
  const Fold fold(static_cast<int>(sizes.size()));
  const std::vector<Range> active = active_blocks(fold, blocks);
  const Volume all = volume_of(hull(active, 0, fold.active));
  if (fold.passive(rank)) return {volume_of(blocks[rank]), all};
  const Traffic exchanged = doubling_traffic({fold.index(rank), active});
  return fold.paired(rank) ? exchanged + Traffic{all, volume_of(blocks[rank + 1])} : exchanged;
}

Rounds halving_reduce_scatter(int rank, const std::vector<Index>& sizes) {
  Rounds rounds = reversed(doubling_all_gather(rank, sizes), Combine::add);
  // What a passive rank gets last is the sum; it has given its share of it.
  if (Fold(static_cast<int>(sizes.size())).passive(rank)) rounds.back().front().combine = Combine::copy;
  return rounds;
}

Traffic halving_reduce_scatter_traffic(int rank, const std::vector<Index>& sizes) {
  return reversed(doubling_all_gather_traffic(rank, sizes));
}

Rounds halving_doubling_all_reduce(int rank, int ranks, Index count) {
  require_rank("halving_doubling_all_reduce", rank, ranks);
  const Fold fold(ranks);
  const std::vector<Range> blocks = shares(count, fold.active);
  const Range all{0, count};
  const int index = fold.index(rank);

  // Reversed, position ^ size is index ^ active / (2 size).
  const Rounds gather = doubling({share_of(fold, rank), blocks},
                                 [&](int size) { return fold.rank(index ^ (fold.active / (2 * size))); });
  const Rounds exchanges = concatenate(reversed(gather, Combine::add), gather);
  return fold_around(fold, rank, exchanges, all, Combine::add, all);
}

Traffic halving_doubling_all_reduce_traffic(int rank, int ranks, Index count) {
  require_rank("halving_doubling_all_reduce_traffic", rank, ranks);
  const Fold fold(ranks);
  const Volume all = volume_of({0, count});
  if (fold.passive(rank)) return {all, all};
  const std::vector<Range> blocks = shares(count, fold.active);
  const Traffic gather = doubling_traffic({share_of(fold, rank), blocks});
  const Traffic exchanged = reversed(gather) + gather;
  return fold.paired(rank) ? exchanged + Traffic{all, all} : exchanged;
}

}  // namespace tessera::plan
