#include "dist/plan/bruck.h"

#include <algorithm>
#include <bit>

namespace tessera::plan {
namespace {

// The blocks in the order of a rank's buffer.
std::vector<Range> rotated(const char* op, int rank, std::vector<Index> sizes) {
  require_rank(op, rank, static_cast<int>(sizes.size()));
  std::ranges::rotate(sizes, sizes.begin() + rank);
  std::vector<Range> blocks = in_a_row(sizes);
  require_parts(op, 0, blocks);
  return blocks;
}

bool has(int way, int distance) { return (way & distance) != 0; }

// How many ways below `ranks` have a step of `distance`.
int num_travelling(int ranks, int distance) {
  int count = 0;
  for (int way = 1; way < ranks; ++way) count += has(way, distance) ? 1 : 0;
  return count;
}

}  // namespace

Rounds bruck_all_gather(int rank, const std::vector<Index>& sizes) {
  const std::vector<Range> blocks = rotated("bruck_all_gather", rank, sizes);
  const int ranks = static_cast<int>(sizes.size());
  Rounds rounds;
  for (int have = 1; have < ranks; have *= 2) {
    const int more = std::min(have, ranks - have);
    rounds.push_back({{.send = hull(blocks, 0, more),
                       .to = (rank - have + ranks) % ranks,
                       .receive = hull(blocks, have, have + more),
                       .from = (rank + have) % ranks}});
  }
  return rounds;
}

Traffic bruck_all_gather_traffic(int rank, const std::vector<Index>& sizes) {
  const std::vector<Range> blocks = rotated("bruck_all_gather_traffic", rank, sizes);
  const int ranks = static_cast<int>(sizes.size());
  Traffic traffic;
  for (int have = 1; have < ranks; have *= 2) {
    const int more = std::min(have, ranks - have);
    traffic = traffic + Traffic{volume_of(hull(blocks, 0, more)), volume_of(hull(blocks, have, have + more))};
  }
  return traffic;
}

Rounds bruck_all_to_all(int rank, int ranks, Index size) {
  require_rank("bruck_all_to_all", rank, ranks);
  require_count("bruck_all_to_all", size);
  const auto block = [size](Index i) { return Range{i * size, size}; };
  const auto received_from = [&](int peer) { return block(ranks + peer); };

  // Where the block is that has `way` to go, in all, from the rank it started at.
  std::vector<Range> at;
  for (int way = 0; way < ranks; ++way) at.push_back(block((rank + way) % ranks));

  const Index packed = 2 * ranks;  // workspace: room to pack one message, then what each round receives
  Index arriving = packed + ranks / 2;
  Rounds rounds;
  for (int distance = 1; distance < ranks; distance *= 2) {
    Round pack;
    for (int way = 1; way < ranks; ++way) {
      if (!has(way, distance)) continue;
      const Index i = std::ssize(pack);
      pack.push_back(copy_here(at[way], block(packed + i)));
      at[way] = block(arriving + i);
    }
    const Index num = std::ssize(pack);
    rounds.push_back(std::move(pack));
    rounds.push_back({{.send = {packed * size, num * size},
                       .to = (rank + distance) % ranks,
                       .receive = {arriving * size, num * size},
                       .from = (rank - distance + ranks) % ranks}});
    arriving += num;
  }

  Round unpack;  // a block that has come all of its way is from that far back
  for (int way = 0; way < ranks; ++way)
    unpack.push_back(copy_here(at[way], received_from((rank - way + ranks) % ranks)));
  rounds.push_back(std::move(unpack));
  return rounds;
}

Traffic bruck_all_to_all_traffic(int rank, int ranks, Index size) {
  require_rank("bruck_all_to_all_traffic", rank, ranks);
  require_count("bruck_all_to_all_traffic", size);
  Index steps = 0;
  for (int way = 1; way < ranks; ++way) steps += std::popcount(static_cast<unsigned>(way));
  const Index messages = size > 0 ? std::bit_width(static_cast<unsigned>(ranks - 1)) : 0;
  const Volume volume{messages, steps * size};
  return {volume, volume};
}

Index bruck_workspace(int ranks, Index size) {
  Index blocks = ranks / 2;
  for (int distance = 1; distance < ranks; distance *= 2) blocks += num_travelling(ranks, distance);
  return blocks * size;
}

}  // namespace tessera::plan
