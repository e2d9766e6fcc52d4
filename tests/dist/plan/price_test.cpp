#include "dist/plan/price.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <nlohmann/json.hpp>

#include "dist/plan/collective_cost.h"
#include "tests/dist/plan/calls.h"

namespace tessera::plan {
namespace {

constexpr double kRounding = 1e-12;

std::vector<Kind> kinds() {
  return {Kind::all_reduce, Kind::reduce_scatter, Kind::all_gather, Kind::broadcast, Kind::reduce,
          Kind::gather,     Kind::scatter,        Kind::all_to_all, Kind::barrier};
}

// A call of parts of one size, which halving divides, too.
Call even_call(Kind kind, int rank, int ranks) {
  const Index part = static_cast<Index>(std::bit_floor(static_cast<unsigned>(ranks))), count = part * ranks;
  Call call = {.kind = kind, .rank = rank, .ranks = ranks, .count = kind == Kind::barrier ? 1 : count};
  if (has_parts(kind)) call.parts = shares(count, ranks);
  if (kind == Kind::all_to_all) call = all_to_all_call(rank, ranks, [&](int, int) { return part; });
  return call;
}

// The busier direction of one rank's round, and what it adds.
Path busier(const Round& round, double count) {
  const Traffic both = traffic({round});
  Path path;
  path.messages = static_cast<double>(std::max(both.sent.messages, both.received.messages));
  path.sent = static_cast<double>(std::max(both.sent.elements, both.received.elements)) / count;
  for (const Step& step : round)
    if (step.combine == Combine::add) path.added += static_cast<double>(step.receive.size) / count;
  return path;
}

// The naive way: the busiest of all ranks in each round, in the rounds themselves.
Path counted_path(Kind kind, Algorithm algorithm, int ranks) {
  std::vector<Rounds> all;
  for (int rank = 0; rank < ranks; ++rank)
    all.push_back(schedule(even_call(kind, rank, ranks), algorithm).rounds);
  // The token that a barrier sends is no array.
  const Index part = std::bit_floor(static_cast<unsigned>(ranks));
  const double count = kind == Kind::barrier ? INFINITY : static_cast<double>(part * ranks);
  Path path;
  for (std::size_t r = 0; r < all.front().size(); ++r) {
    Path busiest;
    for (const Rounds& rounds : all) {
      const Path here = busier(rounds[r], count);
      busiest.messages = std::max(busiest.messages, here.messages);
      busiest.sent = std::max(busiest.sent, here.sent);
      busiest.added = std::max(busiest.added, here.added);
    }
    path = path + busiest;
  }
  return path;
}

TEST(Price, IsThatOfTheRoundsOfTheBusiestRanks) {
  for (const Kind kind : kinds())
    for (const Algorithm algorithm : priced_algorithms(kind))
      for (int ranks = 1; ranks <= 17; ++ranks) {
        SCOPED_TRACE(std::string(to_string(kind)) + " " + to_string(algorithm) + " " + std::to_string(ranks));
        const Path path = path_of(kind, algorithm, ranks), counted = counted_path(kind, algorithm, ranks);
        EXPECT_EQ(path.messages, counted.messages);
        EXPECT_NEAR(path.sent, counted.sent, kRounding);
        if (algorithm == Algorithm::bruck) continue;  // which copies
        EXPECT_NEAR(path.added, counted.added, kRounding);
      }
}

// The textbook's alpha-beta forms (Thakur, Rabenseifner & Gropp 2005).
TEST(Price, PathsAreTheTextbooks) {
  for (const int p : {2, 4, 8, 64, 1024}) {
    const double n = p, log = std::log2(n), others = (n - 1) / n;
    const auto expect = [&](Kind kind, Algorithm algorithm, double messages, double arrays) {
      const Path path = path_of(kind, algorithm, p);
      EXPECT_EQ(path.messages, messages) << to_string(kind) << " " << to_string(algorithm) << " " << p;
      EXPECT_NEAR(path.sent, arrays, kRounding) << to_string(kind) << " " << to_string(algorithm) << " " << p;
    };
    expect(Kind::all_reduce, Algorithm::ring, 2 * (n - 1), 2 * others);
    expect(Kind::all_reduce, Algorithm::recursive_doubling, log, log);
    expect(Kind::all_reduce, Algorithm::halving_doubling, 2 * log, 2 * others);
    expect(Kind::all_gather, Algorithm::ring, n - 1, others);
    expect(Kind::reduce_scatter, Algorithm::ring, n - 1, others);
    expect(Kind::broadcast, Algorithm::binomial, log, log);
    expect(Kind::all_to_all, Algorithm::pairwise, n - 1, others);
    expect(Kind::all_to_all, Algorithm::bruck, log, log / 2);
  }
}

TEST(CollectiveCost, MessagesPickTheCheapestAlgorithm) {
  const Hardware cluster = {.fabric = Fabric::messages,
                            .flops = 1e11,
                            .link_bandwidth = 1e9,
                            .scale_out_bandwidth = 1e8,
                            .domain = 4,
                            .latency_s = 1e-5,
                            .scale_out_latency_s = 1e-4};
  EXPECT_EQ(collective_cost(cluster, "all_reduce", {4, 1, 1}, 8).algorithm, "recursive_doubling");
  EXPECT_NE(collective_cost(cluster, "all_reduce", {4, 1, 1}, 1e9).algorithm, "recursive_doubling");
  // Beyond the node both constants change: two members per node share its way out.
  const CollectiveCost out = collective_cost(cluster, "all_gather", {8, 1, 1}, 8e6);
  EXPECT_DOUBLE_EQ(out.bandwidth_s, 8e6 * 7 / 8 / (4 * 1e8));
  EXPECT_EQ(collective_cost(cluster, "all_gather", {1, 1, 1}, 8e6).seconds, 0);
}

TEST(GroupBandwidth, LinkInsideAndSharedWayOutBeyond) {
  const Hardware h100 = hardware_from_json(nlohmann::json("h100"));
  EXPECT_EQ(group_bandwidth(h100, 8, 1, 1), 450e9);
  EXPECT_EQ(group_bandwidth(h100, 16, 1, 1), 400e9);  // eight of a node send side by side
  EXPECT_EQ(group_bandwidth(h100, 4, 8, 1), 50e9);    // one per node
  EXPECT_EQ(group_bandwidth(h100, 16, 4, 1), 100e9);
  const Hardware v5p = hardware_from_json(nlohmann::json("tpu-v5p"));
  EXPECT_EQ(group_bandwidth(v5p, 64, 1, 3), 540e9);
}

}  // namespace
}  // namespace tessera::plan
