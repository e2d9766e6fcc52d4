// Degrees, the axes they make, and the table of ranks: pure functions, the same on every rank.

#include "dist/comm/degrees.h"

#include <algorithm>

#include "dist/comm/rank_table.h"
#include "tests/dist/comm/reason.h"
#include "tests/dist/mpi_test.h"

namespace tessera::dist {
namespace {

using Names = Grid::Names;

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

TEST(Degrees, MustFitIntoEachOther) {
  EXPECT_EQ(complete({.dp = 6}, 6).shard, 6);
  EXPECT_EQ(complete({.dp = 6, .shard = 3}, 6).shard, 3);
  EXPECT_EQ(reason([] { complete({.dp = 6, .shard = 4}, 6); }), "[mesh] shard=4 does not divide dp=6");
  EXPECT_EQ(reason([] { complete({.dp = 3, .cp = 2, .ep = 4}, 6); }),
            "[mesh] ep=4 does not divide dp x cp = 3 x 2");
  EXPECT_EQ(
      reason([] { complete({.dp = 3, .cp = 2, .ep = 3}, 6); }),
      "[mesh] ep in pp=1 dp=3 cp=2 tp=1 ep=3 takes 3 ranks of cp=2, expected a multiple or a divisor of 2");
  EXPECT_EQ(reason([] { complete({.dp = 4, .ep = 0}, 4); }),
            "[mesh] degrees pp=1 dp=4 cp=1 tp=1 ep=0, expected 1 or more");
}

Names names(const Axes& axes) {
  Names result;
  for (const AtomicAxis& axis : axes.atomic) result.push_back(axis.name + '=' + std::to_string(axis.size));
  return result;
}

TEST(Axes, AreTheFourWithoutMore) {
  const Axes axes = factor(complete({.pp = 2, .dp = 0, .cp = 3, .tp = 2}, 60));
  EXPECT_EQ(names(axes), (Names{"pp=2", "dp=5", "cp=3", "tp=2"}));
  EXPECT_EQ(axes.named.at("shard"), Names{"dp"});
  EXPECT_EQ(axes.named.at("replicate"), Names{});
  EXPECT_EQ(axes.named.at("ep"), Names{});
  EXPECT_EQ(axes.named.at("edp"), (Names{"dp", "cp"}));
}

TEST(Axes, SplitDpIntoReplicateAndShard) {
  const Axes axes = factor(complete({.dp = 6, .tp = 2, .shard = 3}, 12));
  EXPECT_EQ(names(axes), (Names{"pp=1", "replicate=2", "shard=3", "cp=1", "tp=2"}));
  EXPECT_EQ(axes.named.at("dp"), (Names{"replicate", "shard"}));
  EXPECT_EQ(factor(complete({.dp = 6, .shard = 1}, 6)).named.at("replicate"), Names{"dp"});
  EXPECT_EQ(factor(complete({.dp = 6, .shard = 1}, 6)).named.at("shard"), Names{});
}

TEST(Axes, SplitWhereEpEnds) {
  const Axes inside = factor(complete({.dp = 2, .cp = 4, .ep = 2}, 8));
  EXPECT_EQ(names(inside), (Names{"pp=1", "dp=2", "cp.outer=2", "cp.inner=2", "tp=1"}));
  EXPECT_EQ(inside.named.at("ep"), Names{"cp.inner"});
  EXPECT_EQ(inside.named.at("edp"), (Names{"dp", "cp.outer"}));
  EXPECT_EQ(inside.named.at("cp"), (Names{"cp.outer", "cp.inner"}));

  const Axes over_cp = factor(complete({.dp = 12, .cp = 2, .ep = 4, .shard = 6}, 24));
  EXPECT_EQ(names(over_cp), (Names{"pp=1", "replicate=2", "shard.outer=3", "shard.inner=2", "cp=2", "tp=1"}));
  EXPECT_EQ(over_cp.named.at("ep"), (Names{"shard.inner", "cp"}));
  EXPECT_EQ(over_cp.named.at("edp"), (Names{"replicate", "shard.outer"}));
  EXPECT_EQ(over_cp.named.at("dp"), (Names{"replicate", "shard.outer", "shard.inner"}));

  const Axes all = factor(complete({.dp = 4, .cp = 2, .ep = 8, .shard = 2}, 8));
  EXPECT_EQ(all.named.at("ep"), (Names{"replicate", "shard", "cp"}));
  EXPECT_EQ(all.named.at("edp"), Names{});
}

TEST(RankTable, ShowsWhoSitsWhere) {
  EXPECT_EQ(rank_table(complete({.pp = 2, .dp = 2, .tp = 2}, 8), std::vector<int>(8, 0)),
            "              tp 0  tp 1\n"
            "pp 0  dp 0       0     1\n"
            "pp 0  dp 1       2     3\n"
            "pp 1  dp 0       4     5\n"
            "pp 1  dp 1       6     7\n"
            "pp         0 4 | 1 5 | 2 6 | 3 7\n"
            "dp         0 2 | 1 3 | 4 6 | 5 7\n"
            "tp         0 1 | 2 3 | 4 5 | 6 7\n");
  EXPECT_EQ(rank_table(complete({.dp = 2}, 2), {0, 1}),
            "  dp 0  dp 1\n"
            "     0     1\n"
            "dp         0 1\n"
            "node       0 | 1\n");
  EXPECT_EQ(rank_table(complete({.dp = 4, .ep = 2, .shard = 2}, 4), {0, 0, 0, 0}),
            "               shard 0  shard 1\n"
            "replicate 0          0        1\n"
            "replicate 1          2        3\n"
            "dp         0 1 2 3\n"
            "replicate  0 2 | 1 3\n"
            "shard      0 1 | 2 3\n"
            "ep         0 1 | 2 3\n"
            "edp        0 2 | 1 3\n");
}

TEST(RankTable, StaysShortOnManyRanks) {
  const std::string table =
      rank_table(complete({.pp = 8, .dp = 32, .tp = 8}, 2048), std::vector<int>(2048, 0));
  EXPECT_LT(std::ranges::count(table, '\n'), 30);
  EXPECT_NE(table.find("... 256 rows\n"), std::string::npos) << table;
  EXPECT_NE(table.find("... 256 groups\n"), std::string::npos) << table;
}

}  // namespace
}  // namespace tessera::dist
