#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <vector>

#include "dist/plan/collective.h"

/// Collectives to test, and what they must give: for the simulator and for ranks.
namespace tessera::plan {

inline constexpr Kind kKinds[] = {Kind::all_reduce, Kind::reduce_scatter, Kind::all_gather, Kind::broadcast,
                                  Kind::reduce,     Kind::gather,         Kind::scatter,    Kind::all_to_all};

inline bool has_root(Kind kind) {
  return kind == Kind::broadcast || kind == Kind::reduce || kind == Kind::gather || kind == Kind::scatter;
}
inline bool has_parts(Kind kind) {
  return kind == Kind::reduce_scatter || kind == Kind::all_gather || kind == Kind::gather ||
         kind == Kind::scatter;
}

/// Even shares; and in reverse order of rank, with gaps, parts of very different sizes, some empty.
inline std::vector<std::vector<Range>> divisions(int ranks, Index count) {
  std::vector<Range> uneven(ranks);
  Index end = count;
  for (int r = 1; r < ranks; ++r) {
    uneven[r].size = std::max<Index>(end / 2 - 1, 0);
    uneven[r].begin = end - uneven[r].size;
    end = std::max<Index>(uneven[r].begin - 1, 0);
  }
  return {shares(count, ranks), uneven};
}

/// What rank `from` has for rank `to`.
using SizeOf = std::function<Index(int from, int to)>;

inline Call all_to_all_call(int rank, int ranks, const SizeOf& size_of) {
  std::vector<Index> sizes;
  for (int peer = 0; peer < ranks; ++peer) sizes.push_back(size_of(rank, peer));
  for (int peer = 0; peer < ranks; ++peer) sizes.push_back(size_of(peer, rank));
  const std::vector<Range> parts = in_a_row(sizes);
  return {
      .kind = Kind::all_to_all, .rank = rank, .ranks = ranks, .count = parts.back().end(), .parts = parts};
}

// ---- what a rank must end with; value(rank, position) is what each rank began with ----

template <class T, class Expected>
void expect_range(const std::vector<T>& got, const Range& range, Expected expected) {
  for (Index i = range.begin; i < range.end(); ++i) ASSERT_EQ(got[i], expected(i)) << "at " << i;
}

template <class T, class Value>
void expect_result(const std::vector<Call>& by_rank, const Call& c, const std::vector<T>& got, Value value) {
  const auto sum = [&](Index i) {
    T total = 0;
    for (int rank = 0; rank < c.ranks; ++rank) total += value(rank, i);
    return total;
  };
  const auto of = [&](int rank) { return [=](Index i) { return value(rank, i); }; };
  const Range all{0, c.count};
  switch (c.kind) {
    case Kind::all_reduce:
      return expect_range(got, all, sum);
    case Kind::reduce_scatter:
      return expect_range(got, c.parts[c.rank], sum);
    case Kind::all_gather:
      for (int r = 0; r < c.ranks; ++r) expect_range(got, c.parts[r], of(r));
      return;
    case Kind::broadcast:
      return expect_range(got, all, of(c.root));
    case Kind::reduce:
      return c.rank == c.root ? expect_range(got, all, sum) : void();
    case Kind::gather:
      for (int r = 0; r < c.ranks && c.rank == c.root; ++r) expect_range(got, c.parts[r], of(r));
      return;
    case Kind::scatter:
      return expect_range(got, c.parts[c.rank], of(c.root));
    default:  // all_to_all
      for (int r = 0; r < c.ranks; ++r) {
        const Range received = c.parts[c.ranks + r], sent = by_rank[r].parts[c.rank];
        expect_range(got, received, [&](Index i) { return value(r, i - received.begin + sent.begin); });
      }
  }
}

}  // namespace tessera::plan
