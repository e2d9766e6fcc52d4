#include "dist/plan/price.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace tessera::plan {

Path operator+(const Path& a, const Path& b) {
  return {a.rounds + b.rounds, a.messages + b.messages, a.sent + b.sent, a.added + b.added};
}

namespace {

// One exchange after the other, each of all the bytes.
Path exchanges(double rounds, bool adds) { return {rounds, rounds, rounds, adds ? rounds : 0}; }

// The sizes that all formulas are made of. Where ranks are no power of two, folded ones pair up with active
// ones.
struct Sizes {
  double ranks, active, folded, log_active, log_up, all_but_one;

  explicit Sizes(int p)
      : ranks(p),
        active(std::bit_floor(static_cast<unsigned>(p))),
        folded(ranks - active),
        log_active(std::log2(active)),
        log_up(std::bit_width(static_cast<unsigned>(p - 1))),
        all_but_one(1 - 1.0 / p) {}

  bool folds() const { return folded > 0; }
  Path ring() const { return {ranks - 1, ranks - 1, all_but_one, 0}; }
  Path tree() const { return exchanges(log_up, false); }
  Path scatter() const { return {log_up, log_up, all_but_one, 0}; }
  // Among active ranks.
  Path doubling() const { return {log_active, log_active, 1 - 1 / active, 0}; }
  // Of one part for each rank: a folded rank gives its own and gets all, and of k active ranks as many as can
  // have two.
  Path doubling_of_parts() const {
    Path path{log_active, log_active, 0, 0};
    for (double k = 1; k < active; k *= 2) path.sent += (k + std::min(k, folded)) / ranks;
    return folds() ? path + Path{2, 2, 1 + 1 / ranks, 0} : path;
  }
};

// What folded ranks give before, and get after.
Path around(const Sizes& s, const Path& path) {
  return s.folds() ? exchanges(1, true) + path + exchanges(1, false) : path;
}

Path adding(Path path) {
  path.added = path.sent;
  return path;
}

double blocks_with_a_bit(int ranks) {
  double steps = 0;
  for (int way = 1; way < ranks; ++way) steps += std::popcount(static_cast<unsigned>(way));
  return steps;
}

}  // namespace

Path path_of(Kind kind, Algorithm algorithm, int ranks) {
  const Sizes s(ranks);
  const bool sums = kind == Kind::reduce_scatter || kind == Kind::reduce;
  const auto once = [&](const Path& path) { return sums ? adding(path) : path; };
  switch (algorithm) {
    case Algorithm::ring:
      if (kind == Kind::all_reduce) return adding(s.ring()) + s.ring();
      if (kind == Kind::broadcast || kind == Kind::reduce) return s.scatter() + once(s.ring());
      return once(s.ring());
    case Algorithm::recursive_doubling:
      return around(s, exchanges(s.log_active, true));
    case Algorithm::halving_doubling:
      if (kind == Kind::all_reduce) return around(s, adding(s.doubling()) + s.doubling());
      return once(s.doubling_of_parts()) + Path{.added = sums && s.folds() ? -1 / s.ranks : 0};
    case Algorithm::binomial:
      if (kind == Kind::all_reduce) return adding(s.tree()) + s.tree();
      return kind == Kind::gather || kind == Kind::scatter ? s.scatter() : once(s.tree());
    case Algorithm::bruck:
      if (kind == Kind::all_gather) return {s.log_up, s.log_up, s.all_but_one, 0};
      // Each block is packed before it is sent, and unpacked once: twice what an addition would take.
      return {s.log_up, s.log_up, blocks_with_a_bit(ranks) / ranks,
              2 * (blocks_with_a_bit(ranks) / ranks + s.all_but_one)};
    case Algorithm::pairwise:
      return once({ranks > 1 ? 1.0 : 0.0, s.ranks - 1, s.all_but_one, 0});
    default:  // dissemination
      return {s.log_up, s.log_up, 0, 0};
  }
}

std::vector<Algorithm> priced_algorithms(Kind kind) {
  std::vector<Algorithm> all = algorithms_of(kind);
  std::erase(all, Algorithm::hierarchical);
  return all;
}

}  // namespace tessera::plan
