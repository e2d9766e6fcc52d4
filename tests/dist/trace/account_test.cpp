#include "dist/trace/account.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "dist/trace/account_json.h"
#include "dist/trace/comm_accounts.h"
#include "dist/trace/report.h"

namespace tessera::dist {
namespace {

RankAccount example() {
  RankAccount rank{.rank = 3, .node = "host"};
  rank.coords = {{"dp", 1}, {"tp", 0}};
  for (const double step_s : {100., 90., 3., 1., 2.})
    rank.steps.push_back({std::ssize(rank.steps), step_s, {.step_s = step_s, .compute_s = step_s / 2}});
  rank.comm = {{"all_reduce", "dp", "gradients", "ring", 4, 10, 60, 3000, 2000, 0.5, 0.25}};
  rank.memory[0] = {10, 20, 20};
  rank.memory[1] = {1, 2, -1};
  rank.peak_rss_bytes = 5 << 20;
  rank.parameters = 77;
  return rank;
}

TEST(Account, MeansLeaveOutTheFirstTwoSteps) {
  EXPECT_EQ(example().mean().step_s, 2);
  EXPECT_EQ(example().mean().compute_s, 1);
  EXPECT_EQ(RankAccount().mean().step_s, 0);
  EXPECT_EQ(median_parts(example().steps).step_s, 3);
  EXPECT_EQ(median({}), 0);
}

TEST(Account, BusBandwidthIsThatOfALink) {
  CommAccount account{.op = "all_reduce", .ranks = 4, .buffer_bytes = 800, .seconds = 2};
  EXPECT_EQ(account.algbw(), 400);
  EXPECT_EQ(account.busbw(), 600);
  account.op = "all_gather";
  EXPECT_EQ(account.busbw(), 300);
  account.op = "broadcast";
  EXPECT_EQ(account.busbw(), 400);
  account.seconds = 0;
  EXPECT_EQ(account.busbw(), 0);
}

TEST(Account, SurvivesJson) {
  const RankAccount before = example();
  const nlohmann::json j = before;
  const RankAccount after = j;
  EXPECT_EQ(nlohmann::json(after), j);
  EXPECT_EQ(after.coords, before.coords);
  EXPECT_EQ(after.memory[0].formula, 20);
  EXPECT_EQ(after.memory[1].formula, -1);
  EXPECT_EQ(after.steps.back().parts.step_s, 2);
  for (const char* field : {"rank", "node", "coords", "peak_bytes", "peak_rss_bytes", "parameters"})
    EXPECT_TRUE(j.contains(field)) << field;
  for (const char* field : {"op", "axis", "purpose", "algorithm", "calls", "messages", "bytes", "seconds",
                            "algbw", "busbw", "predicted_s"})
    EXPECT_TRUE(j["comm"][0].contains(field)) << field;
}

TEST(Account, CountsOperationsFromTheLastArrival) {
  const plan::Network network{.across = {.alpha_s = 10, .beta_s_per_byte = 0.5, .per_message_s = 1},
                              .add_s_per_byte = 2};
  Channel channel{.axis = "dp", .purpose = "gradients"};
  channel.world_ranks = {0, 1};
  channel.nodes = {0, 1};
  const auto shared = std::make_shared<const Channel>(channel);
  Operation operation{.channel = shared,
                      .name = "all_reduce",
                      .algorithm = "ring",
                      .bytes = 80,
                      .begin_s = 1,
                      .end_s = 5,
                      .messages_sent = 2,
                      .bytes_sent = 80};
  std::vector<CommAccount> accounts;
  add_operations(accounts, {operation, operation}, {1, 4}, network);
  operation.algorithm = "binomial";
  add_operations(accounts, {operation}, {0}, network);
  ASSERT_EQ(accounts.size(), 2U);
  EXPECT_EQ(accounts[0].calls, 2);
  EXPECT_EQ(accounts[0].seconds, 5);
  EXPECT_EQ(accounts[0].bytes, 160);
  // Two rounds of half the buffer between nodes, half of it added.
  EXPECT_DOUBLE_EQ(accounts[0].predicted_s, 2 * (2 * 10.0 + 80 * 0.5 + 40 * 2.0));
  EXPECT_EQ(accounts[1].seconds, 4) << "not before this rank began";
}

TEST(Report, TablesShowWhatThereIs) {
  const RankAccount rank = example();
  EXPECT_NE(step_table({rank}).find("   3  host"), std::string::npos) << step_table({rank});
  EXPECT_EQ(step_table({rank}).find("bubble"), std::string::npos);
  EXPECT_NE(comm_table(rank.comm).find("dp gradients"), std::string::npos) << comm_table(rank.comm);
  EXPECT_EQ(comm_table({}), "");
  EXPECT_NE(parts_text(rank.mean()).find("compute 50.0 %"), std::string::npos) << parts_text(rank.mean());
  EXPECT_NE(memory_table(rank).find("gradient"), std::string::npos);
  EXPECT_EQ(memory_table(rank).find("scratch"), std::string::npos);
}

}  // namespace
}  // namespace tessera::dist
