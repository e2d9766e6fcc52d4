#include "dist/plan/validate.h"

#include <algorithm>
#include <map>
#include <ostream>
#include <utility>

#include "dist/plan/require.h"

namespace tessera::plan {
namespace {

struct Place {
  int round, rank, ranks;
};

std::ostream& operator<<(std::ostream& out, const Place& at) {
  return out << "round " << at.round << ": rank " << at.rank << " of " << at.ranks;
}

void validate_message(const Place& at, const char* verb, const Range& range, int peer, Index count) {
  require(range.begin >= 0 && range.size >= 0 && range.end() <= count, "validate", at, verb, range, " of ",
          count, " elements");
  require(range.size == 0 || peer == kHere || (peer >= 0 && peer < at.ranks && peer != at.rank), "validate",
          at, verb, range, " with rank ", peer);
}

// One rank's round by itself: it stays inside the buffer, and its result is the same whatever arrives first.
void validate_round(const Place& at, const Round& round, Index count) {
  std::vector<Range> received;
  for (const Step& step : round) {
    validate_message(at, " sends ", step.send, step.to, count);
    validate_message(at, " receives ", step.receive, step.from, count);
    require((step.to == kHere) == (step.from == kHere) &&
                (!step.local() || (step.send.size == step.receive.size && step.combine == Combine::copy)),
            "validate", at, " copies ", step.send, " to ", step.receive, " here");
    received.push_back(step.receive);
  }
  require(disjoint(received), "validate", at, " receives overlapping ranges");

  for (const Step& s : round)
    for (const Step& r : round)
      require(r.combine == Combine::add || disjoint({s.send, r.receive}), "validate", at, " copies into ",
              r.receive, " while it sends ", s.send);
}

// Sizes of one round's messages from one rank to another, in step order, as each of the two sees them.
struct Wire {
  std::vector<Index> sent, received;
};

// All ranks' round `r` together: what is sent is received.
void validate_matching(const std::vector<Rounds>& by_rank, int r) {
  std::map<std::pair<int, int>, Wire> wires;
  for (int rank = 0; rank < std::ssize(by_rank); ++rank)
    for (const Step& step : by_rank[rank][r]) {
      if (step.local()) continue;
      if (step.send.size > 0) wires[{rank, step.to}].sent.push_back(step.send.size);
      if (step.receive.size > 0) wires[{step.from, rank}].received.push_back(step.receive.size);
    }

  for (const auto& [ends, wire] : wires) {
    const auto [s, t] = std::ranges::mismatch(wire.sent, wire.received);
    const Index sent = s == wire.sent.end() ? 0 : *s, received = t == wire.received.end() ? 0 : *t;
    require(sent == received, "validate", "round ", r, ": rank ", ends.first, " sends ", sent,
            " elements, rank ", ends.second, " receives ", received);
  }
}

}  // namespace

void validate(const std::vector<Rounds>& by_rank, Index count) {
  const int ranks = static_cast<int>(by_rank.size());
  require(ranks > 0, "validate", "no ranks");
  for (int rank = 1; rank < ranks; ++rank)
    require(by_rank[rank].size() == by_rank[0].size(), "validate", "rank 0 has ", by_rank[0].size(),
            " rounds, rank ", rank, " has ", by_rank[rank].size());

  for (int r = 0; r < std::ssize(by_rank[0]); ++r) {
    for (int rank = 0; rank < ranks; ++rank) validate_round({r, rank, ranks}, by_rank[rank][r], count);
    validate_matching(by_rank, r);
  }
}

}  // namespace tessera::plan
