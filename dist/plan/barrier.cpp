#include "dist/plan/barrier.h"

#include <bit>

namespace tessera::plan {

Rounds dissemination_barrier(int rank, int ranks) {
  require_rank("dissemination_barrier", rank, ranks);
  const Range token{0, 1};
  Rounds rounds;
  for (int distance = 1; distance < ranks; distance *= 2)
    rounds.push_back({{.send = token,
                       .to = (rank + distance) % ranks,
                       .receive = token,
                       .from = (rank - distance + ranks) % ranks,
                       .combine = Combine::add}});
  return rounds;
}

Traffic dissemination_barrier_traffic(int ranks) {
  require_rank("dissemination_barrier_traffic", 0, ranks);
  const Index messages = std::bit_width(static_cast<unsigned>(ranks - 1));
  return {{messages, messages}, {messages, messages}};
}

}  // namespace tessera::plan
