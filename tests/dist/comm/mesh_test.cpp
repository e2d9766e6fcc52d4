#include "dist/comm/mesh.h"

#include "dist/comm/collectives.h"
#include "dist/comm/node_internal.h"
#include "tensor/threads.h"
#include "tests/dist/comm/reason.h"
#include "tests/dist/mpi_test.h"

namespace tessera::dist {
namespace {

TEST(Split, OrdersByColorThenKeyThenRank) {
  const int rank = world().rank(), ranks = world().size();
  const Comm half = split(world(), rank % 2, -rank / 4, {"half", "test"});  // keys: 0 up to rank 3, then -1
  std::vector<int> expected;
  for (const bool late : {true, false})
    for (int r = rank % 2; r < ranks; r += 2)
      if ((r >= 4) == late) expected.push_back(r);
  EXPECT_EQ(half.world_ranks(), expected);
  EXPECT_EQ(half.world_ranks()[half.rank()], rank);
  EXPECT_EQ(to_string(half.name()), "half test");

  Index sum_of_ranks = 0;
  for (const int r : expected) sum_of_ranks += r;
  EXPECT_EQ(sum(half, rank), sum_of_ranks);
}

TEST(Split, OfAGroupNeedsThatGroupAlone) {
  const int rank = world().rank(), ranks = world().size();
  const Comm half = split(world(), rank % 2, 0, {"half", ""});
  if (rank % 2 == 1) return;
  const Comm reversed = split(half, 0, -rank, {"reversed", ""});
  EXPECT_EQ(reversed.rank(), half.size() - 1 - half.rank());
  EXPECT_EQ(sum(reversed, 1), (ranks + 1) / 2);
  std::vector<Index> first = {Index{rank}};
  broadcast(reversed, first, 0);
  EXPECT_EQ(first[0], (ranks - 1) / 2 * 2);
}

TEST(Split, IntoSingleRanks) {
  const Comm alone = split(world(), world().rank(), 0, {"alone", ""});
  EXPECT_EQ(alone.size(), 1);
  EXPECT_EQ(sum(alone, 5), 5);
  barrier(alone);
}

Place place(Index node, Index cores) { return {.node_key = node, .cores = {0, cores}}; }

TEST(Nodes, CountCoresOfAllTheirRanks) {
  const std::vector<Place> places = {place(7, 0b0001), place(8, 0b1111), place(7, 0b0110), place(7, 0b0010)};
  EXPECT_EQ(nodes_of(places), (std::vector<int>{0, 1, 0, 0}));
  EXPECT_EQ(cores_on_node(places, 3), 3);
  EXPECT_EQ(cores_on_node(places, 1), 4);
}

TEST(Nodes, AllRanksOfATestShareOne) {
  EXPECT_EQ(world().nodes(), std::vector<int>(world().size(), 0));
  EXPECT_EQ(world().ranks_on_node(), world().size());
  EXPECT_GE(world().cores_on_node(), available_cores());
}

TEST(Grid, CountsAlongTheInnermostAxisFirst) {
  const Grid grid({{"pp", 2}, {"dp", 3}, {"tp", 2}});
  EXPECT_EQ(grid.num_ranks(), 12);
  EXPECT_EQ(grid.coordinate(7, {"pp"}), 1);
  EXPECT_EQ(grid.coordinate(7, {"dp"}), 0);
  EXPECT_EQ(grid.coordinate(7, {"tp"}), 1);
  EXPECT_EQ(grid.coordinate(9, {"dp", "tp"}), 3);
  EXPECT_EQ(grid.coordinate(9, {"tp", "dp"}), 3);  // order of names does not matter
  EXPECT_EQ(grid.group(7, {"dp"}), (std::vector<int>{7, 9, 11}));
  EXPECT_EQ(grid.group(7, {"pp", "tp"}), (std::vector<int>{0, 1, 6, 7}));
  EXPECT_EQ(grid.group(7, {}), std::vector<int>{7});
  EXPECT_EQ(grid.size({"pp", "dp"}), 6);
}

TEST(Grid, RefusesWhatCannotBe) {
  EXPECT_THROW(Grid({{"pp", 0}}), std::invalid_argument);
  EXPECT_THROW(Grid({{"pp", 2}, {"pp", 2}}), std::invalid_argument);
  EXPECT_EQ(reason([] { Grid({{"pp", 2}}).size({"ep"}); }), "[Grid] there is no axis ep");
}

TEST(Mesh, HasACommunicatorPerAxisAndPurpose) {
  const int rank = world().rank(), ranks = world().size();
  const int tp = ranks % 2 == 0 ? 2 : 1;
  const Mesh mesh(world(), {.dp = 0, .tp = tp});
  const Axis inner = mesh.axis("tp"), outer = mesh.axis("dp"), all = mesh.product({"dp", "cp", "tp"});
  EXPECT_EQ(mesh.degrees().dp, ranks / tp);
  EXPECT_EQ(inner.rank(), rank % tp);
  EXPECT_EQ(outer.rank(), rank / tp);
  EXPECT_EQ(all.size(), ranks);
  EXPECT_EQ(all.rank(), rank);
  EXPECT_EQ(all.name(), "dp x cp x tp");

  const Comm gradients = outer.comm("gradients"), activations = inner.comm("activations");
  EXPECT_EQ(gradients.rank(), outer.rank());
  EXPECT_EQ(sum(gradients, rank % tp), rank % tp * (ranks / tp));
  EXPECT_EQ(sum(activations, rank / tp), rank / tp * tp);
  EXPECT_EQ(sum(all.comm("norm"), rank), ranks * (ranks - 1) / 2);
  EXPECT_EQ(sum(mesh.axis("pp").comm("activations"), rank), rank);

  EXPECT_EQ(mesh.comms().size(), 4U);
  outer.comm("gradients");
  EXPECT_EQ(mesh.comms().size(), 4U);
  outer.comm("parameters");
  EXPECT_EQ(mesh.comms().size(), 5U);
  EXPECT_EQ(gradients.counter(Kind::all_reduce).calls, 1);
  EXPECT_EQ(reason([&] { mesh.axis("zp"); }), "[Grid] there is no axis zp");
}

/// Every factorisation of the ranks of the test into pp, dp, cp, tp, with every ep and shard.
std::vector<Degrees> all_degrees() {
  const int ranks = world().size();
  std::vector<Degrees> all;
  for (int pp = 1; pp <= ranks; ++pp)
    for (int dp = 1; pp * dp <= ranks; ++dp)
      for (int cp = 1; pp * dp * cp <= ranks; ++cp)
        for (int ep = 1; ep <= dp * cp; ++ep)
          for (int shard = 1; shard <= dp; ++shard) {
            const int tp = ranks / (pp * dp * cp);
            if (pp * dp * cp * tp != ranks || dp % shard != 0) continue;
            const Degrees degrees{.pp = pp, .dp = dp, .cp = cp, .tp = tp, .ep = ep, .shard = shard};
            if (reason([&] { complete(degrees, ranks); }) == "nothing") all.push_back(degrees);
          }
  return all;
}

TEST(Mesh, GroupsCoverTheWorldOnceInEveryFactorisation) {
  const int ranks = world().size();
  for (const Degrees& degrees : all_degrees()) {
    SCOPED_TRACE(to_string(degrees));
    const Mesh mesh(world(), degrees);
    EXPECT_EQ(mesh.axis("ep").size(), degrees.ep);
    EXPECT_EQ(mesh.axis("edp").size() * degrees.ep, degrees.dp * degrees.cp);
    EXPECT_EQ(mesh.axis("shard").size(), degrees.shard);
    EXPECT_EQ(mesh.axis("replicate").size() * degrees.shard, degrees.dp);

    for (const std::string name : {"pp", "dp", "replicate", "shard", "cp", "tp", "ep", "edp"}) {
      const Axis axis = mesh.axis(name);
      const std::vector<int> mine = mesh.grid().group(world().rank(), axis.atomic_axes());
      ASSERT_EQ(std::ssize(mine), axis.size()) << name;
      EXPECT_EQ(mine[axis.rank()], world().rank()) << name;
      for (const int other : mine) EXPECT_EQ(mesh.grid().group(other, axis.atomic_axes()), mine) << name;
    }
    EXPECT_EQ(mesh.product({"ep", "edp"}).atomic_axes(), mesh.product({"dp", "cp"}).atomic_axes());
    EXPECT_EQ(mesh.product({"replicate", "shard"}).atomic_axes(), mesh.axis("dp").atomic_axes());
    EXPECT_EQ(mesh.product({"pp", "dp", "cp", "tp"}).size(), ranks);
  }
}

TEST(Mesh, ExpertsSpreadOverNeighboursOfDpAndCp) {
  for (const Degrees& degrees : all_degrees()) {
    const Mesh mesh(world(), degrees);
    const int inner = mesh.product({"dp", "cp"}).rank();
    EXPECT_EQ(mesh.axis("ep").rank(), inner % degrees.ep) << to_string(degrees);
    EXPECT_EQ(mesh.axis("edp").rank(), inner / degrees.ep) << to_string(degrees);
    EXPECT_EQ(mesh.axis("shard").rank(), mesh.axis("dp").rank() % degrees.shard) << to_string(degrees);
  }
}

TEST(Mesh, CommunicatesAlongEveryAxis) {
  std::vector<Degrees> some = all_degrees();
  if (some.size() > 12) some.erase(some.begin(), some.end() - 12);
  for (const Degrees& degrees : some) {
    const Mesh mesh(world(), degrees);
    for (const std::string name : {"pp", "dp", "replicate", "shard", "cp", "tp", "ep", "edp"}) {
      const Axis axis = mesh.axis(name);
      Index expected = 0;
      for (const int rank : mesh.grid().group(world().rank(), axis.atomic_axes())) expected += rank;
      EXPECT_EQ(sum(axis.comm("test"), world().rank()), expected) << name << " in " << to_string(degrees);
    }
  }
}

TEST(Mesh, TellsWhereARankIs) {
  const int ranks = world().size();
  const Mesh mesh(world(), {.dp = 0});
  for (int rank = 0; rank < ranks; ++rank)
    EXPECT_EQ(mesh.coords(rank), (std::vector<Coordinate>{{"pp", 0}, {"dp", rank}, {"cp", 0}, {"tp", 0}}));
  if (ranks % 4 != 0) return;
  const Mesh split(world(), {.dp = 0, .ep = 2, .shard = 2});
  EXPECT_EQ(split.coords(3), (std::vector<Coordinate>{{"pp", 0},
                                                      {"dp", 3},
                                                      {"replicate", 1},
                                                      {"shard", 1},
                                                      {"cp", 0},
                                                      {"tp", 0},
                                                      {"ep", 1},
                                                      {"edp", 1}}));
}

}  // namespace
}  // namespace tessera::dist
