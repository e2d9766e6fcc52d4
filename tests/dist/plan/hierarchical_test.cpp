#include "dist/plan/hierarchical.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "tests/dist/plan/simulator.h"

namespace tessera::plan {
namespace {

// Results, formulas and orders of arrival on many placements: collective_test.cpp.

Index elements_between_nodes(const Nodes& nodes, const std::function<Rounds(int rank)>& rounds_of) {
  std::vector<int> node_of(8);
  for (int node = 0; node < std::ssize(nodes); ++node)
    for (const int rank : nodes[node]) node_of[rank] = node;
  Index elements = 0;
  for (int rank = 0; rank < std::ssize(node_of); ++rank)
    for (const Round& round : rounds_of(rank))
      for (const Step& step : round)
        if (step.send.size > 0 && node_of[step.to] != node_of[rank]) elements += step.send.size;
  return elements;
}

TEST(Hierarchical, SendsTheLeastBetweenNodes) {
  const Nodes nodes = nodes_in_order(8, 4);
  const Index count = 800;
  EXPECT_EQ(elements_between_nodes(nodes, [&](int r) { return hierarchical_all_reduce(r, nodes, count); }),
            2 * count);  // each of 2 nodes tells the other its sum
  EXPECT_EQ(elements_between_nodes(nodes, [&](int r) { return hierarchical_broadcast(r, nodes, 5, count); }),
            count);
  EXPECT_EQ(elements_between_nodes(nodes, [&](int r) { return hierarchical_reduce(r, nodes, 5, count); }),
            count);
  const std::vector<Index> sizes(8, 100);
  EXPECT_EQ(elements_between_nodes(nodes, [&](int r) { return hierarchical_all_gather(r, nodes, sizes); }),
            count);
  EXPECT_EQ(
      elements_between_nodes(nodes, [&](int r) { return hierarchical_reduce_scatter(r, nodes, sizes); }),
      count);
}

TEST(Hierarchical, UsesAllRanksOfANodeForAnAllReduce) {
  const Nodes nodes = nodes_in_order(8, 4);
  for (int rank = 0; rank < 8;
       ++rank)  // a ring on 4 ranks twice, and half of an eighth's exchange with a peer
    EXPECT_EQ(hierarchical_all_reduce_traffic(rank, nodes, 800).sent, (Volume{6 + 2, 2 * 600 + 200}));
}

TEST(NodesInOrder, LeavesTheRestToTheLast) {
  EXPECT_EQ(nodes_in_order(5, 2), (Nodes{{0, 1}, {2, 3}, {4}}));
  EXPECT_EQ(nodes_in_order(2, 4), (Nodes{{0, 1}}));
  EXPECT_THROW(nodes_in_order(2, 0), std::invalid_argument);
}

TEST(Hierarchical, RejectsImpossiblePlacements) {
  EXPECT_THROW(hierarchical_all_reduce(0, {}, 5), std::invalid_argument);
  EXPECT_THROW(hierarchical_all_reduce(0, {{0, 1}, {1}}, 5), std::invalid_argument);
  EXPECT_THROW(hierarchical_all_reduce(0, {{0, 3}}, 5), std::invalid_argument);
  EXPECT_THROW(hierarchical_all_reduce(0, {{0}, {}}, 5), std::invalid_argument);
  EXPECT_THROW(hierarchical_broadcast(0, {{0, 1}}, 2, 5), std::invalid_argument);
  EXPECT_THROW(hierarchical_all_gather(0, {{0, 1}}, {1, 2, 3}), std::invalid_argument);
}

}  // namespace
}  // namespace tessera::plan
