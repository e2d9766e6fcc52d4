#include <gtest/gtest.h>

#include <algorithm>

#include "tests/examples/child.h"

namespace tessera {
namespace {

using Words = std::vector<std::string>;

/// One line on stderr, "program: ...", that holds all the words; nothing on stdout; exit status 2.
void expect_refused(const std::string& program, const Words& arguments, const Words& words) {
  const Outcome outcome = run(program, arguments);
  SCOPED_TRACE(program + " " + ::testing::PrintToString(arguments) + " said: " + outcome.err);
  EXPECT_EQ(outcome.status, 2);
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(std::ranges::count(outcome.err, '\n'), 1);
  EXPECT_TRUE(outcome.err.starts_with(program + ": "));
  for (const std::string& word : words) EXPECT_NE(outcome.err.find(word), std::string::npos) << word;
}

TEST(BadInput, UnknownFlagsAndCommands) {
  expect_refused("train", {"--stesp", "3"}, {"--stesp", "train --help"});
  expect_refused("train", {"text.txt"}, {"text.txt", "train --help"});
  expect_refused("generate", {}, {"--checkpoint", "required"});
  expect_refused("bench", {}, {"subcommand", "bench --help"});
  expect_refused("bench", {"speed"}, {"speed", "bench --help"});
  expect_refused("bench", {"gemm", "--steps", "3"}, {"--steps"});
}

TEST(BadInput, NumbersOutOfRange) {
  expect_refused("train", {"--steps", "-4"}, {"--steps", "\"-4\"", "whole number from 1"});
  expect_refused("train", {"--steps", "3x"}, {"--steps", "\"3x\"", "whole number"});
  expect_refused("train", {"--steps", "1e3"}, {"--steps", "\"1e3\"", "whole number"});
  expect_refused("train", {"--steps", "99999999999"}, {"--steps", "\"99999999999\"", "2147483647"});
  expect_refused("train", {"--steps"}, {"--steps"});
  expect_refused("train", {"--steps", "1", "--steps", "2"}, {"--steps"});
  expect_refused("train", {"--lr", "nan"}, {"--lr", "\"nan\"", "finite"});
  expect_refused("train", {"--lr", "inf"}, {"--lr", "\"inf\"", "finite"});
  expect_refused("train", {"--seed", "-1"}, {"--seed", "\"-1\"", "from 0"});
  expect_refused("train", {"--threads", "0"}, {"--threads", "\"0\"", "from 1"});
  expect_refused("train", {"--dropout", "1"}, {"dropout", "1", "[0, 1)"});
  expect_refused("bench", {"step", "--batch", "0"}, {"--batch", "\"0\"", "from 1"});
  expect_refused("generate", {"--checkpoint", "x", "--top-k", "-1"}, {"--top-k", "\"-1\"", "from 0"});
}

TEST(BadInput, NamesThatAreNone) {
  expect_refused("train", {"--model", "gpt-9"}, {"gpt-9", "gpt-nano", "llama-nano"});
  expect_refused("train", {"--dtype", "f16"}, {"f16", "f32|f64"});
  expect_refused("train", {"--norm", "batch"}, {"batch", "layer|rms"});
  expect_refused("train", {"--optimizer", "lion"}, {"lion", "sgd|adamw"});
  expect_refused("train", {"--recompute", "half"}, {"half", "none|selective|full"});
}

TEST(BadInput, FlagsThatDoNotGoTogether) {
  expect_refused("train", {"--heads", "3"}, {"heads", "3", "128"});
  expect_refused("train", {"--kv-heads", "3"}, {"kv_heads", "3", "4"});
  expect_refused("train", {"--tied", "--untied"}, {"--tied", "--untied"});
  expect_refused("train", {"--momentum", "0.9"}, {"--momentum", "0.9", "sgd"});
  expect_refused("train", {"--vocab", "100"}, {"--vocab", "100", "256"});
}

TEST(BadInput, WhatCannotFit) {
  expect_refused("train", {"--batch", "2000000000"}, {"2000000000", "GiB"});
  expect_refused("train", {"--dim", "400000000"}, {"GiB"});
  expect_refused("bench", {"step", "--batch", "2000000000"}, {"2000000000", "GiB"});
}

TEST(BadInput, DataFiles) {
  const Folder folder;
  const std::string empty = folder.file("empty.txt", ""), brief = folder.file("brief.txt", "too short");
  expect_refused("train", {"--data", folder.path("missing.txt")},
                 {folder.path("missing.txt"), "No such file"});
  expect_refused("train", {"--data", empty}, {empty, "empty"});
  expect_refused("train", {"--data", brief}, {brief, "9 tokens", "at least 129"});
  expect_refused("train", {"--data", folder.path("")}, {folder.path("")});
  expect_refused("train", {"--data", ""}, {"--data", "FILE"});
  const std::string odd = folder.file("odd.u16", "abc"),
                    high = folder.file("high.u16", std::string(4000, '\xff'));
  expect_refused("train", {"--data", odd}, {odd, "even"});
  expect_refused("train", {"--data", high}, {high, "65535", "256"});
}

TEST(BadInput, ModelFiles) {
  const Folder folder;
  const std::string broken = folder.file("broken.json", "{\"dim\":"),
                    typo = folder.file("typo.json", "{\"dimm\": 8}");
  const std::string text = folder.file("text.json", "{\"dim\": \"wide\"}");
  expect_refused("train", {"--model", broken}, {broken, "JSON"});
  expect_refused("train", {"--model", typo}, {"dimm", "expected"});
  expect_refused("train", {"--model", text}, {"dim", "wide"});
  expect_refused("train", {"--model", folder.path("missing.json")}, {folder.path("missing.json")});
}

TEST(BadInput, Checkpoints) {
  const Folder folder, other;
  expect_refused("generate", {"--checkpoint", folder.path("missing")}, {folder.path("missing")});
  expect_refused("train", {"--resume", folder.path("missing")}, {folder.path("missing")});
  expect_refused("train", {"--save-every", "3"}, {"--save-every", "--save"});
  folder.file("checkpoint.json", "{\"folder\": \"..\"");
  expect_refused("generate", {"--checkpoint", folder.path("")}, {"checkpoint.json", "offset"});
}

TEST(BadInput, PlacesThatCannotBeWritten) {
  const Folder folder;
  const std::string file = folder.file("file", "mine");
  expect_refused("train", {"--save", file}, {"--save", file});
  expect_refused("train", {"--save", file + "/below"}, {"--save", file});
  expect_refused("train", {"--json", folder.path("")}, {"--json", "folder"});
  expect_refused("train", {"--json", folder.path("none/run.json")}, {"--json", "none/run.json"});
  expect_refused("bench", {"gemm", "--json", folder.path("none/run.json")}, {"--json", "none/run.json"});
  EXPECT_EQ(read_text(file), "mine");
  EXPECT_EQ(folder.names(), Words{"file"});
}

TEST(Programs, HelpAndVersion) {
  for (const char* program : {"train", "generate", "bench"}) {
    for (const char* flag : {"--help", "--version"}) {
      const Outcome outcome = run(program, {flag});
      EXPECT_EQ(outcome.status, 0);
      EXPECT_EQ(outcome.err, "");
      EXPECT_NE(outcome.out.find(program), std::string::npos) << outcome.out;
    }
  }
}

}  // namespace
}  // namespace tessera
