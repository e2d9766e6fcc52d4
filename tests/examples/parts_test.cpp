#include <gtest/gtest.h>

#include <filesystem>

#include "examples/cli.h"
#include "examples/files.h"
#include "examples/loss_plot.h"
#include "examples/text.h"
#include "tests/examples/child.h"

namespace tessera {
namespace {

TEST(Configure, OtherDimKeepsTheRatio) {
  const nn::ModelConfig preset = configure({.model = "gpt-nano"});
  const nn::ModelConfig wider = configure({.model = "gpt-nano", .dim = 2 * preset.dim});
  EXPECT_EQ(wider.ffn_dim, 2 * preset.ffn_dim);
  EXPECT_EQ(configure({.model = "gpt-nano", .dim = 2 * preset.dim, .ffn_dim = 7}).ffn_dim, 7);
}

TEST(Configure, KvHeadsFollowHeadsWhereTheyWereEqual) {
  EXPECT_EQ(configure({.model = "gpt-nano", .heads = 2}).kv_heads, 2);
  EXPECT_EQ(configure({.model = "gpt-nano", .heads = 2, .kv_heads = 1}).kv_heads, 1);
  const nn::ModelConfig grouped_heads = configure({.model = "llama-nano"});
  ASSERT_LT(grouped_heads.kv_heads, grouped_heads.heads);
  EXPECT_EQ(configure({.model = "llama-nano", .heads = 2 * grouped_heads.heads}).kv_heads,
            grouped_heads.kv_heads);
}

TEST(Files, CheckLeavesNothingBehind) {
  const Folder folder;
  check_writable_file("--json", folder.path("a.json"));
  check_writable_folder("--save", folder.path("b"));
  check_writable_file("--json", "");
  EXPECT_EQ(folder.names(), std::vector<std::string>{"b"});
}

TEST(Files, WriteReplacesWhatALinkPointsTo) {
  const Folder folder;
  const std::string file = folder.file("file", "old"), link = folder.path("link");
  std::filesystem::create_symlink(file, link);
  check_writable_file("--json", link);
  EXPECT_EQ(read_text(file), "old");
  write_file(link, "new");
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  EXPECT_EQ(read_text(file), "new");
  EXPECT_EQ(folder.names().size(), 2u);
}

TEST(Files, DevicesAreNotReplaced) {
  check_writable_file("--json", "/dev/null");
  write_file("/dev/null", "text");
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
}

TEST(Text, Numbers) {
  EXPECT_EQ(grouped(0), "0");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(1234567), "1 234 567");
  EXPECT_EQ(grouped(-123), "-123");
  EXPECT_EQ(grouped(-1234), "-1 234");
  EXPECT_EQ(bytes_text(1536), "1.5 KiB");
  EXPECT_EQ(bytes_text(3 << 20), "3.0 MiB");
  EXPECT_EQ(duration_text(42.9), "0:42");
  EXPECT_EQ(duration_text(3909), "1:05:09");
}

TEST(LossPlot, FallsFromTopLeftToBottomRight) {
  History history;
  for (Index step = 0; step < 10; ++step)
    history.steps.push_back({.step = step, .loss = 5 - 0.4 * static_cast<double>(step)});
  history.validation.push_back({10, 1});
  EXPECT_EQ(plot_loss(history, 11, 5),
            "   5.000 |..         \n"
            "   4.000 |  ..       \n"
            "   3.000 |    ...    \n"
            "   2.000 |       ..  \n"
            "   1.000 |         .o\n"
            "         +-----------\n"
            "          0        10 updates   (. training, o validation)\n");
}

TEST(LossPlot, BeginsWhereAResumedRunDid) {
  History history;
  for (Index step = 90; step < 100; ++step)
    history.steps.push_back({.step = step, .loss = 5 - 0.4 * static_cast<double>(step - 90)});
  history.validation.push_back({100, 1});
  EXPECT_NE(plot_loss(history, 11, 5).find("5.000 |..         \n"), std::string::npos)
      << plot_loss(history, 11, 5);
  EXPECT_NE(plot_loss(history, 11, 5).find("|         .o\n"), std::string::npos);
  EXPECT_NE(plot_loss(history, 11, 5).find("90       100 updates"), std::string::npos);
}

TEST(LossPlot, TakesConstantLossAndShortRuns) {
  History history;
  history.steps.push_back({.step = 0, .loss = 2});
  EXPECT_EQ(plot_loss(history), "");
  history.steps.push_back({.step = 1, .loss = 2});
  EXPECT_NE(plot_loss(history).find('.'), std::string::npos);
}

}  // namespace
}  // namespace tessera
