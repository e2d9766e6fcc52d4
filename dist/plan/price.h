#pragma once

#include <vector>

#include "dist/plan/collective.h"

/// What rounds cost, where sending and receiving go on at once: a round lasts as long as the busier direction
/// of its busiest rank, and rounds follow each other.
namespace tessera::plan {

/// What a message costs. A message that depends on another one's arrival takes alpha_s, and beta_s_per_byte
/// for each byte; independent ones share an alpha, and take per_message_s each.
struct LinkPrice {
  double alpha_s, beta_s_per_byte, per_message_s;

  bool operator==(const LinkPrice&) const = default;
};

/// What happens one after the other: rounds with a message, messages, and how often all bytes of the array
/// are sent and added. The array is what is summed, copied, gathered or scattered; of all_to_all, what a rank
/// sends.
struct Path {
  double rounds = 0, messages = 0, sent = 0, added = 0;

  double seconds(double bytes, const LinkPrice& link, double add_s_per_byte = 0) const {
    return rounds * link.alpha_s + (messages - rounds) * link.per_message_s +
           bytes * (sent * link.beta_s_per_byte + added * add_s_per_byte);
  }
};

Path operator+(const Path& a, const Path& b);

/// That of a collective of even parts by an algorithm other than hierarchical, on links that are all alike: a
/// closed form, so thousands of ranks are as quickly priced as two. Tests hold it against the rounds of all
/// ranks. An all_to_all by bruck packs and unpacks its blocks, which counts as two additions of what it
/// moves. Sources: Thakur, Rabenseifner & Gropp 2005, doi:10.1177/1094342005051521; and those of the
/// algorithms.
Path path_of(Kind kind, Algorithm algorithm, int ranks);

/// The algorithms that have one: all but hierarchical.
std::vector<Algorithm> priced_algorithms(Kind kind);

}  // namespace tessera::plan
