#include "dist/plan/price.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "dist/plan/collective_cost.h"

namespace tessera::plan {
namespace {

constexpr double kRounding = 1e-12;

std::vector<Kind> kinds() {
  return {Kind::all_reduce, Kind::reduce_scatter, Kind::all_gather, Kind::broadcast, Kind::reduce,
          Kind::gather,     Kind::scatter,        Kind::all_to_all, Kind::barrier};
}

TEST(Price, RankZeroHasTheLongestPath) {
  for (const Kind kind : kinds())
    for (const Algorithm algorithm : priced_algorithms(kind))
      for (int ranks = 1; ranks <= 17; ++ranks) {
        std::vector<Rounds> all;
        double count = 1;
        for (int rank = 0; rank < ranks; ++rank) {
          auto [rounds, elements] = even_rounds(kind, algorithm, rank, ranks);
          all.push_back(std::move(rounds));
          count = elements;
        }
        const Path whole = longest_path(all, count), zero = path_of(kind, algorithm, ranks);
        SCOPED_TRACE(std::string(to_string(kind)) + " " + to_string(algorithm) + " " + std::to_string(ranks));
        EXPECT_EQ(zero.messages, whole.messages);
        EXPECT_NEAR(zero.arrays, whole.arrays, kRounding);
      }
}

// The textbook's alpha-beta forms (Thakur, Rabenseifner & Gropp 2005).
TEST(Price, PathsAreTheTextbooks) {
  for (const int p : {2, 4, 8, 64, 1024}) {
    const double n = p, log = std::log2(n), others = (n - 1) / n;
    const auto expect = [&](Kind kind, Algorithm algorithm, double messages, double arrays) {
      const Path path = path_of(kind, algorithm, p);
      EXPECT_EQ(path.messages, messages) << to_string(kind) << " " << to_string(algorithm) << " " << p;
      EXPECT_NEAR(path.arrays, arrays, kRounding)
          << to_string(kind) << " " << to_string(algorithm) << " " << p;
    };
    expect(Kind::all_reduce, Algorithm::ring, 2 * (n - 1), 2 * others);
    expect(Kind::all_reduce, Algorithm::recursive_doubling, log, log);
    expect(Kind::all_reduce, Algorithm::halving_doubling, 2 * log, 2 * others);
    expect(Kind::all_gather, Algorithm::ring, n - 1, others);
    expect(Kind::reduce_scatter, Algorithm::ring, n - 1, others);
    expect(Kind::broadcast, Algorithm::binomial, log, log);
    expect(Kind::all_to_all, Algorithm::pairwise, n - 1, others / n);
    expect(Kind::all_to_all, Algorithm::bruck, log, log / 2 / n);
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
  Prices prices;
  EXPECT_EQ(collective_cost(cluster, "all_reduce", {4, 1, 1}, 8, prices).algorithm, "recursive_doubling");
  EXPECT_NE(collective_cost(cluster, "all_reduce", {4, 1, 1}, 1e9, prices).algorithm, "recursive_doubling");
  // Beyond the node both constants change: two members per node share its way out.
  const CollectiveCost out = collective_cost(cluster, "all_gather", {8, 1, 1}, 8e6, prices);
  EXPECT_DOUBLE_EQ(out.bandwidth_s, 8e6 * 7 / 8 / (4 * 1e8));
  EXPECT_EQ(collective_cost(cluster, "all_gather", {1, 1, 1}, 8e6, prices).seconds, 0);
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
