#pragma once

#include <map>
#include <utility>
#include <vector>

#include "dist/plan/collective.h"

/// What rounds cost when each message takes latency_s + bytes * s_per_byte, and sending and receiving go on
/// at once: a round lasts as long as the busier direction of its busiest rank, and rounds follow each other.
namespace tessera::plan {

/// Of one message.
struct MessageCost {
  double latency_s = 0, s_per_byte = 0;
};

/// Messages in a row on the longest path, and how often the whole array travels it: seconds are
/// messages * latency_s + arrays * bytes * s_per_byte. The array is what is summed, gathered or scattered; of
/// an all_to_all, what all ranks have together.
struct Path {
  double messages = 0, arrays = 0;

  double seconds(double bytes, const MessageCost& link) const {
    return messages * link.latency_s + arrays * bytes * link.s_per_byte;
  }
};

/// Counted in the rounds of all ranks, where the array has `count` elements.
Path longest_path(const std::vector<Rounds>& by_rank, double count);

/// A collective of even parts on as many elements as it takes: rank `rank`'s rounds, and the array's
/// elements.
std::pair<Rounds, double> even_rounds(Kind kind, Algorithm algorithm, int rank, int ranks);

/// Counted in rank 0's rounds alone, the root's if there is one: no rank's path is longer in these algorithms
/// (a test holds it against longest_path), so a thousand ranks are quickly priced.
Path path_of(Kind kind, Algorithm algorithm, int ranks);

/// The algorithms that have a price on links that are all alike: all but hierarchical.
std::vector<Algorithm> priced_algorithms(Kind kind);

/// Paths, each counted once: a search asks for the same ones thousands of times.
class Prices {
 public:
  const Path& path(Kind kind, Algorithm algorithm, int ranks);

 private:
  std::map<std::pair<std::pair<Kind, Algorithm>, int>, Path> paths_;
};

}  // namespace tessera::plan
