#include <gtest/gtest.h>

#include <limits>

#include "tests/dist/plan/query_test.h"

namespace tessera::plan {
namespace {

using nlohmann::json;

const std::vector<std::string> kCommands = {"roofline",   "memory", "pipeline", "search",
                                            "collective", "check",  "list"};

void expect_words(const json& request, const std::vector<std::string>& words) {
  const std::string error = refusal_of(request);
  for (const std::string& word : words)
    EXPECT_NE(error.find(word), std::string::npos) << word << " in: " << error;
}

TEST(HostileQuery, WhatIsNoRequest) {
  for (const json& request : {json(), json(3), json("x"), json::array(), json::object(), json{{"command", 3}},
                              json{{"command", nullptr}}, json{{"command", "fly"}}})
    EXPECT_FALSE(refusal_of(request).empty());
  expect_words({{"command", "list"}, {"version", 2}}, {"version", "2", "1"});
  expect_words({{"command", "list"}, {"colour", "red"}}, {"colour"});
}

// Every numeric field of every command, with everything a number must not be.
TEST(HostileQuery, NumbersThatCannotBe) {
  const json bad = {-1,
                    -0.5,
                    "-3",
                    "nan",
                    "inf",
                    "1e999",
                    1e300,
                    "1e30",
                    "12parsecs",
                    "",
                    "GB",
                    "0x1",
                    "2M2",
                    true,
                    json::array(),
                    json::object(),
                    std::numeric_limits<double>::quiet_NaN(),
                    std::numeric_limits<double>::infinity()};
  const std::vector<std::pair<std::string, std::vector<std::string>>> fields = {
      {"roofline",
       {"batch", "devices", "dp", "tp", "pp", "ep", "dp_axes", "sequence", "mfu", "step_s", "train_tokens"}},
      {"memory", {"batch", "dp", "tp", "pp", "cp", "zero", "microbatches", "sequence", "saved_widths"}},
      {"pipeline", {"pp", "microbatches", "virtual_stages", "forward_s", "backward_input_s", "hop_s"}},
      {"search", {"devices", "batch", "sequence", "limit"}},
      {"collective", {"ranks", "bytes", "stride", "ring_axes"}}};
  for (const auto& [command, names] : fields)
    for (const std::string& name : names)
      for (const json& value : bad) {
        SCOPED_TRACE(command + " " + name + " " + value.dump());
        const std::string error = refusal_of({{"command", command}, {name, value}});
        EXPECT_NE(error.find(name), std::string::npos) << error;
      }
  for (const char* name : {"dp", "tp", "pp", "devices", "batch"})
    expect_words({{"command", "roofline"}, {name, 0}}, {name, "0"});
  expect_words({{"command", "memory"}, {"dp", 1.5}}, {"dp", "1.5", "whole"});
  expect_words({{"command", "memory"}, {"zero", 4}}, {"zero", "4"});
}

TEST(HostileQuery, NamesThatAreNone) {
  expect_words({{"command", "roofline"}, {"model", "gpt-9"}}, {"gpt-9", "llama3-70b"});
  expect_words({{"command", "roofline"}, {"hardware", "abacus"}}, {"abacus", "h100"});
  expect_words({{"command", "roofline"}, {"strategy", "hope"}}, {"hope", "fsdp"});
  expect_words({{"command", "pipeline"}, {"schedule", "zb-v"}}, {"zb-v", "1f1b"});
  expect_words({{"command", "memory"}, {"state", "free"}}, {"free", "mixed"});
  expect_words({{"command", "memory"}, {"recompute", "all"}}, {"all", "selective"});
  expect_words({{"command", "collective"}, {"op", "gossip"}}, {"gossip", "all_reduce"});
  expect_words({{"command", "roofline"}, {"model", "\xff\xfe"}}, {"model"});
}

TEST(HostileQuery, ModelsAndHardwareThatCannotBe) {
  expect_words({{"command", "memory"}, {"model", {{"layers", 1}}}}, {"dim", "ffn_dim"});
  expect_words({{"command", "memory"}, {"model", {{"base", "llama3-8b"}, {"heads", 7}}}}, {"7"});
  expect_words({{"command", "memory"}, {"model", {{"base", "deepseek-v3"}, {"top_k", 300}}}}, {"300", "257"});
  expect_words({{"command", "memory"}, {"model", {{"base", "llama3-8b"}, {"wheels", 4}}}}, {"wheels"});
  expect_words({{"command", "roofline"}, {"hardware", {{"flops", "1T"}}}}, {"link_bandwidth"});
  expect_words({{"command", "roofline"}, {"hardware", {{"base", "h100"}, {"link_bandwidth", 0}}}},
               {"link_bandwidth"});
  expect_words({{"command", "roofline"}, {"hardware", "a100"}, {"derate", "measured"}}, {"a100", "measured"});
  expect_words({{"command", "memory"}, {"hardware", {{"flops", 1}, {"link_bandwidth", 1}}}},
               {"memory_bytes"});
}

TEST(HostileQuery, LayoutsThatCannotBe) {
  expect_words({{"command", "memory"}, {"tp", 3}}, {"tp 3", "64"});
  expect_words({{"command", "memory"}, {"pp", 81}}, {"81", "80"});
  expect_words({{"command", "memory"}, {"ep", 2}}, {"ep 2"});
  expect_words({{"command", "memory"}, {"sequence_parallel", true}}, {"sequence-parallel"});
  expect_words(
      {{"command", "pipeline"}, {"schedule", "interleaved"}, {"virtual_stages", 2}, {"microbatches", 6}},
      {"6", "4", "multiple"});
  expect_words({{"command", "pipeline"}, {"virtual_stages", 2}}, {"virtual_stages", "1f1b"});
  expect_words({{"command", "pipeline"}, {"pp", 100000}, {"microbatches", 100000}}, {"microbatches"});
  expect_words({{"command", "roofline"}, {"devices", 10}, {"dp", 3}}, {"10", "3"});
  expect_words({{"command", "roofline"}, {"hardware", "h100"}, {"strategy", "ep"}, {"ep", 2}}, {"experts"});
  expect_words({{"command", "search"}, {"batch", 100}}, {"100", "8192"});
}

TEST(HostileQuery, RunsThatAreNone) {
  for (const json& run : {json(), json(3), json::array(), json::object(), json{{"config", 3}},
                          json{{"config", json::object()}, {"layout", json::object()}}})
    EXPECT_FALSE(refusal_of({{"command", "check"}, {"run", run}}).empty());
}

// Extreme but allowed numbers: an answer with finite numbers, or an error; never an infinity or a nan.
TEST(HostileQuery, NeverASilentInfinity) {
  for (const std::string& command : kCommands)
    for (const json& tiny : {json(1e-24), json(1), json(1e24)})
      for (const json& huge : {json(1), json(1e15)}) {
        json request = {{"command", command}};
        if (command == "roofline" || command == "search")
          request.update({{"batch", tiny}, {"devices", huge}});
        if (command == "roofline" || command == "memory")
          request["hardware"] = {{"flops", tiny}, {"link_bandwidth", 1e24}, {"memory_bytes", tiny}};
        if (command == "memory") request.update({{"batch", tiny}, {"dp", huge}});
        if (command == "collective") request.update({{"bytes", tiny}, {"ranks", huge}});
        if (command == "pipeline") request.update({{"forward_s", tiny}, {"pp", huge}});
        const std::string text = query(request).dump();  // nan and infinities would be null
        EXPECT_TRUE(text.find("\"error\"") != std::string::npos ||
                    text.find("\"verdict\"") != std::string::npos);
        EXPECT_EQ(text.find(" inf "), std::string::npos) << text.substr(0, 2000);
        EXPECT_EQ(text.find("nan"), std::string::npos) << text.substr(0, 2000);
      }
}

}  // namespace
}  // namespace tessera::plan
