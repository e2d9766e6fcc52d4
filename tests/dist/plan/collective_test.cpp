#include "dist/plan/collective.h"

#include <gtest/gtest.h>

#include <functional>
#include <stdexcept>

#include "tests/dist/plan/calls.h"
#include "tests/dist/plan/simulator.h"

namespace tessera::plan {
namespace {

// ---- calls ----

// In order; and so that nodes have different numbers of ranks, far apart.
std::vector<Nodes> placements(int ranks) {
  std::vector<Nodes> all = {nodes_in_order(ranks, 1), nodes_in_order(ranks, 2), nodes_in_order(ranks, 3),
                            nodes_in_order(ranks, ranks)};
  Nodes mixed(std::min(3, ranks));
  for (int rank = ranks - 1; rank >= 0; --rank) mixed[rank * rank % std::ssize(mixed)].push_back(rank);
  std::erase_if(mixed, [](const auto& members) { return members.empty(); });
  all.push_back(mixed);
  return all;
}

/// All ways to call a collective on `ranks` ranks with `count` elements: one call per rank.
std::vector<std::vector<Call>> calls(Kind kind, int ranks, Index count, Algorithm algorithm) {
  std::vector<std::vector<Call>> all;
  const auto add = [&](const std::function<Call(int)>& call) {
    std::vector<Call>& by_rank = all.emplace_back();
    for (int rank = 0; rank < ranks; ++rank) by_rank.push_back(call(rank));
  };
  if (kind == Kind::all_to_all) {
    add([&](int rank) { return all_to_all_call(rank, ranks, [&](int, int) { return count / ranks; }); });
    if (algorithm != Algorithm::bruck)
      add([&](int rank) {
        return all_to_all_call(rank, ranks, [&](int from, int to) { return (count + 3 * from + to) % 7; });
      });
    return all;
  }
  const auto parts = has_parts(kind) ? divisions(ranks, count) : std::vector<std::vector<Range>>{{}};
  const auto nodes = algorithm == Algorithm::hierarchical ? placements(ranks) : std::vector<Nodes>{{}};
  for (int root = 0; root < (has_root(kind) ? ranks : 1); ++root)
    for (const auto& division : parts)
      for (const Nodes& placement : nodes)
        add([&](int rank) { return Call{kind, rank, ranks, count, division, root, placement}; });
  return all;
}

// ---- running them ----

template <class T>
std::vector<T> read_all(const std::vector<T>& buffer, const std::vector<Range>& ranges) {
  std::vector<T> result;
  for (const Range& range : ranges) {
    const std::vector<T> part = read(buffer, range);
    result.insert(result.end(), part.begin(), part.end());
  }
  return result;
}

/// The rounds of a call on all ranks, and the logical buffers that they work on.
template <class T>
struct Simulation {
  std::vector<Schedule> schedules;
  std::vector<Rounds> rounds;
  Buffers<T> logical;

  Simulation(const std::vector<Call>& by_rank, Algorithm algorithm, const Buffers<T>& buffers, T poison) {
    for (const Call& call : by_rank) {
      Schedule& s = schedules.emplace_back(schedule(call, algorithm));
      if (s.order.empty()) s.order = {{0, call.count}};
      logical.push_back(read_all(buffers[call.rank], s.order));
      logical.back().resize(logical.back().size() + s.workspace, poison);
    }
    Index longest = 0;
    for (const auto& buffer : logical) longest = std::max<Index>(longest, std::ssize(buffer));
    rounds = all_ranks(
        static_cast<int>(by_rank.size()), longest, [&](int rank) { return schedules[rank].rounds; },
        [&](int rank) { return schedule_traffic(by_rank[rank], algorithm); });
  }

  Buffers<T> results(Buffers<T> buffers) const {
    for (std::size_t rank = 0; rank < buffers.size(); ++rank) {
      Index at = 0;
      for (const Range& range : schedules[rank].order) {
        write(buffers[rank], range, read(logical[rank], {at, range.size}), Combine::copy);
        at += range.size;
      }
    }
    return buffers;
  }
};

/// Every rank's own values; of a call whose ranks have buffers of different sizes, too.
Buffers<Index> inputs(const std::vector<Call>& by_rank) {
  Buffers<Index> buffers;
  for (const Call& call : by_rank) buffers.push_back(unique_values(call.ranks, call.count)[call.rank]);
  return buffers;
}

TEST(EveryCollective, GivesTheRightResultWithTheTrafficOfItsFormula) {
  for (const Kind kind : kKinds)
    for (const Algorithm algorithm : algorithms_of(kind))
      for (int ranks = 1; ranks <= kMaxRanks; ++ranks)
        for (const Index count : kCounts)
          for (const std::vector<Call>& by_rank : calls(kind, ranks, count, algorithm)) {
            const Buffers<Index> before = inputs(by_rank);
            Simulation<Index> simulation(by_rank, algorithm, before, -1);
            run(simulation.rounds, simulation.logical);
            const Buffers<Index> after = simulation.results(before);
            SCOPED_TRACE(std::string(to_string(kind)) + " " + to_string(algorithm) + ", " +
                         std::to_string(ranks) + " ranks, count " + std::to_string(count));
            for (const Call& call : by_rank) expect_result(by_rank, call, after[call.rank], value);
            if (testing::Test::HasFailure()) return;
          }
}

TEST(EveryCollective, MayRunAhead) {
  for (const Kind kind : kKinds)
    for (const Algorithm algorithm : algorithms_of(kind))
      for (int ranks = 1; ranks <= 5; ++ranks)
        for (const std::vector<Call>& by_rank : calls(kind, ranks, 11, algorithm)) {
          Buffers<float> before;
          for (const Call& call : by_rank) before.push_back(random_floats(ranks, call.count)[call.rank]);
          const Simulation<float> start(by_rank, algorithm, before, -1);
          Buffers<float> in_order = start.logical;
          run(start.rounds, in_order);
          for (unsigned seed = 0; seed < 4; ++seed) {
            Buffers<float> ahead = start.logical;
            run_ahead(start.rounds, ahead, 1 + seed % 3, seed);
            ASSERT_EQ(ahead, in_order)
                << to_string(kind) << ' ' << to_string(algorithm) << ", " << ranks << " ranks, seed " << seed;
          }
        }
}

TEST(EveryAllReduce, IsBitIdenticalOnAllRanks) {
  for (const Algorithm algorithm : algorithms_of(Kind::all_reduce))
    for (int ranks = 1; ranks <= kMaxRanks; ++ranks)
      for (const Index count : {1, 7, 1000})
        for (const std::vector<Call>& by_rank : calls(Kind::all_reduce, ranks, count, algorithm)) {
          Buffers<float> buffers = random_floats(ranks, count);
          Simulation<float> simulation(by_rank, algorithm, buffers, -1);
          run(simulation.rounds, simulation.logical);
          expect_bit_identical(simulation.results(buffers));
        }
}

TEST(EveryCollective, RefusesWhatCannotBe) {
  const Call call{.kind = Kind::all_gather, .rank = 0, .ranks = 2, .count = 5, .parts = shares(5, 2)};
  EXPECT_THROW(schedule(call, Algorithm::pairwise), std::invalid_argument);
  EXPECT_THROW(schedule(call, Algorithm::automatic), std::invalid_argument);
  const auto refused = [&](auto change) {
    Call bad = call;
    change(bad);
    EXPECT_THROW(schedule(bad, Algorithm::ring), std::invalid_argument);
    EXPECT_THROW(schedule_traffic(bad, Algorithm::ring), std::invalid_argument);
  };
  refused([](Call& c) { c.rank = 2; });
  refused([](Call& c) { c.root = -1; });
  refused([](Call& c) { c.count = 4; });
  refused([](Call& c) { c.parts.emplace_back(); });
  refused([](Call& c) { c.parts[0] = {2, 3}; });
  refused([](Call& c) { c.kind = Kind::point_to_point; });
  const Call uneven = all_to_all_call(0, 2, [](int from, int to) { return from + to; });
  EXPECT_NO_THROW(schedule(uneven, Algorithm::pairwise));
  EXPECT_THROW(schedule(uneven, Algorithm::bruck), std::invalid_argument);
  Call nowhere{.kind = Kind::all_reduce, .rank = 0, .ranks = 3, .count = 5};
  EXPECT_THROW(schedule(nowhere, Algorithm::hierarchical), std::invalid_argument);
  nowhere.nodes = {{0, 1}, {1, 2}};
  EXPECT_THROW(schedule(nowhere, Algorithm::hierarchical), std::invalid_argument);
}

TEST(Names, OfKindsAndAlgorithmsAreReadAsTheyArePrinted) {
  for (int i = 0; i < kNumKinds; ++i)
    EXPECT_EQ(parse_kind(to_string(static_cast<Kind>(i))), static_cast<Kind>(i));
  for (int i = 0; i < kNumAlgorithms; ++i)
    EXPECT_EQ(parse_algorithm(to_string(static_cast<Algorithm>(i))), static_cast<Algorithm>(i));
  EXPECT_THROW(parse_algorithm("rings"), std::invalid_argument);
  EXPECT_EQ(algorithm_names(Kind::all_to_all), "automatic, pairwise, bruck");
}

}  // namespace
}  // namespace tessera::plan
