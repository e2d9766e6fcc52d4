#include "dist/comm/mesh.h"

#include <stdexcept>

#include "dist/comm/collectives.h"
#include "dist/comm/node_internal.h"
#include "tensor/threads.h"
#include "tests/dist/mpi_test.h"

namespace tessera::dist {
namespace {

/// What `call` says when it throws std::invalid_argument.
template <class Call>
std::string reason(Call call) {
  try {
    call();
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "nothing";
}

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

TEST(Degrees, MultiplyToTheNumberOfRanks) {
  EXPECT_EQ(complete({.pp = 2, .dp = 0, .cp = 1, .tp = 2}, 12).dp, 3);
  EXPECT_EQ(complete({.dp = 0}, 5).dp, 5);
  EXPECT_EQ(complete({.pp = 2, .dp = 3, .tp = 2}, 12).dp, 3);
  EXPECT_EQ(reason([] { complete({.pp = 2, .dp = 2, .tp = 2}, 12); }),
            "[mesh] pp=2 dp=2 cp=1 tp=2 make 8 ranks, but there are 12");
  EXPECT_EQ(reason([] { complete({.pp = 5, .dp = 0}, 12); }), "[mesh] pp=5 cp=1 tp=1 do not divide 12 ranks");
  EXPECT_EQ(reason([] { complete({.pp = 24, .dp = 0}, 12); }),
            "[mesh] pp=24 cp=1 tp=1 do not divide 12 ranks");
  EXPECT_EQ(reason([] { complete({.dp = 1, .tp = -1}, 12); }),
            "[mesh] degrees pp=1 dp=1 cp=1 tp=-1, expected 1 or more");
  EXPECT_THROW(complete({.pp = 1 << 30, .dp = 4, .cp = 1 << 30, .tp = 1 << 30}, 12), std::invalid_argument);
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
  EXPECT_THROW(mesh.axis("ep"), std::invalid_argument);
}

}  // namespace
}  // namespace tessera::dist
