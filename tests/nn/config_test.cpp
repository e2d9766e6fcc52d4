#include "nn/config.h"

#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>

#include "nn/transformer.h"
#include "tests/nn/temporary.h"
#include "tests/tensor/gradcheck.h"

namespace tessera::nn {
namespace {

using namespace tessera::testing;
using nlohmann::json;

std::string error_of_json(const char* text) {
  return error_of([&] { config_from_json(json::parse(text)); });
}
std::string error_with(const std::function<void(ModelConfig&)>& change) {
  ModelConfig config;
  change(config);
  return error_of([&] { validate(config); });
}
Index elements_of(const char* name) { return count_elements(Transformer(find_model(name)).parameters()); }

TEST(Presets, AreValidAndFoundByName) {
  for (const std::string& name : preset_names()) {
    const ModelConfig config = find_model(name);
    EXPECT_EQ(config.name, name);
    EXPECT_NO_THROW(validate(config)) << name;
  }
  EXPECT_EQ(to_json(find_model("gpt-nano")), to_json(ModelConfig{}));
}

// The published sizes: 124 M of Radford et al. 2019 as Hugging Face counts it, and TinyLlama's 1 100 048 384.
TEST(Presets, HaveThePublishedSizes) {
  EXPECT_EQ(elements_of("gpt2"), 124439808);
  EXPECT_EQ(elements_of("llama-1b"), 1100048384);
  EXPECT_EQ(elements_of("gpt-mini"), 10844160);
}

TEST(Presets, LlamasAreOfLikeSize) {
  for (const char* size : {"nano", "mini"}) {
    const auto gpt = static_cast<double>(elements_of(("gpt-" + std::string(size)).c_str()));
    const auto llama = static_cast<double>(elements_of(("llama-" + std::string(size)).c_str()));
    EXPECT_NEAR(llama / gpt, 1, 0.15) << size;
  }
}

TEST(FindModel, ListsTheKnown) {
  const std::string text = error_of([] { find_model("gpt-huge"); });
  for (const std::string& name : preset_names()) EXPECT_NE(text.find(name), std::string::npos) << text;
  EXPECT_NE(text.find("\"gpt-huge\""), std::string::npos);
}

TEST(FindModel, ReadsFiles) {
  const TemporaryDirectory folder;
  const ModelConfig llama = find_model("llama-nano");
  const ModelConfig read = find_model(folder.file("a.json", to_json(llama).dump(2)));
  EXPECT_EQ(to_json(read), to_json(llama));
}

TEST(FindModel, FilesMayBeAnything) {
  const TemporaryDirectory folder;
  const auto error = [&](const std::string& bytes) {
    return error_of([&] { find_model(folder.file("a.json", bytes)); });
  };
  const auto says = [&](const std::string& bytes, const char* part) {
    const std::string text = error(bytes);
    EXPECT_NE(text.find("a.json"), std::string::npos) << text;
    EXPECT_NE(text.find(part), std::string::npos) << text;
    EXPECT_EQ(text.rfind("[config]"), 0U) << text;
  };
  says("", "no valid JSON at offset 0");
  says("{\"dim\": 128,}", "no valid JSON at offset 12");
  says(std::string("{}\0{}", 5), "no valid JSON at offset 2");
  says("{\"dim\": 128, \"dim\": 64}", "\"dim\" twice");
  says(std::string(100000, '['), "nested deeper than 2");
  says(std::string(2000000, ' '), "2000000 bytes long, expected at most");
  says("[]", "[], expected an object");
  says("{\"heads\": 5}", "heads is 5, which does not divide dim 128");
  EXPECT_NE(error_of([&] { find_model(folder / "none.json"); }).find("No such file"), std::string::npos);
}

TEST(ConfigJson, GoesBothWays) {
  for (const std::string& name : preset_names()) {
    const json object = to_json(find_model(name));
    EXPECT_EQ(to_json(config_from_json(json::parse(object.dump()))), object);
  }
}

TEST(ConfigJson, HoldsEveryField) {
  const json changed = {{"name", "odd"},    {"layers", 5},        {"dim", 12},       {"heads", 3},
                        {"kv_heads", 1},    {"ffn_dim", 33},      {"context", 8},    {"vocab", 37},
                        {"norm", "rms"},    {"position", "rope"}, {"mlp", "swiglu"}, {"tied", false},
                        {"bias", false},    {"dropout", 0.25},    {"norm_eps", 0.5}, {"rope_base", 100.0},
                        {"init_std", 0.125}};
  EXPECT_EQ(to_json(config_from_json(changed)), changed);
  EXPECT_EQ(changed.size(), to_json(ModelConfig{}).size());
}

TEST(ConfigJson, AbsentWidthsFollow) {
  const ModelConfig gpt = config_from_json({{"dim", 192}, {"heads", 6}});
  EXPECT_EQ(gpt.kv_heads, 6);
  EXPECT_EQ(gpt.ffn_dim, 768);
  EXPECT_EQ(gpt.name, "custom");
  EXPECT_EQ(config_from_json({{"dim", 384}, {"mlp", "swiglu"}}).ffn_dim, 1024);
}

TEST(ConfigJson, NamesWhatIsWrong) {
  EXPECT_EQ(error_of_json("{\"mlp\": \"moe\"}"), "[mlp] got \"moe\", expected gelu|swiglu");
  const std::string text = error_of_json("{\"hidden\": 5}");
  EXPECT_NE(text.find("unknown key \"hidden\", expected one of"), std::string::npos) << text;
  const json all = to_json(ModelConfig{});
  for (const auto& [key, value] : all.items()) EXPECT_NE(text.find(key), std::string::npos) << key;
}

TEST(ConfigJson, ChecksTypes) {
  const auto says = [](const char* object, const char* part) {
    EXPECT_NE(error_of_json(object).find(part), std::string::npos) << error_of_json(object);
  };
  says("{\"dim\": \"big\"}", "dim is \"big\", expected an integer");
  says("{\"dim\": 128.0}", "dim is 128.0, expected an integer");
  says("{\"dim\": -128}", "dim is -128, expected an integer");
  says("{\"dim\": 18446744073709551615}", "dim is 18446744073709551615, expected an integer");
  says("{\"dim\": null}", "dim is null");
  says("{\"tied\": 1}", "tied is 1, expected true or false");
  says("{\"dropout\": \"0.1\"}", "dropout is \"0.1\", expected a number");
  says("{\"name\": 7}", "name is 7, expected a string");
  says("{\"norm\": 7}", "norm is 7, expected a string");
  says("{\"norm\": \"batch\"}", "\"batch\", expected layer|rms");
  says("{\"position\": \"alibi\"}", "\"alibi\", expected learned|rope");
}

TEST(Validate, NamesTheValueAndWhy) {
  const auto says = [](const std::string& text, const char* part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  says(error_with([](ModelConfig& c) { c.heads = 5; }), "heads is 5, which does not divide dim 128");
  says(error_with([](ModelConfig& c) { c.kv_heads = 3; }), "kv_heads is 3, which does not divide heads 4");
  says(error_with([](ModelConfig& c) { c.kv_heads = 8; }), "kv_heads is 8, which does not divide heads 4");
  says(error_with([](ModelConfig& c) { c.layers = 0; }), "layers is 0, expected 1 to 10000");
  says(error_with([](ModelConfig& c) { c.layers = Index{1} << 40; }), "layers is 1099511627776");
  says(error_with([](ModelConfig& c) { c.vocab = Index{1} << 31; }), "vocab is 2147483648");
  says(error_with([](ModelConfig& c) { c.dropout = 1; }), "dropout is 1, not in [0, 1)");
  says(error_with([](ModelConfig& c) { c.dropout = NAN; }), "dropout is nan");
  says(error_with([](ModelConfig& c) { c.dropout = -0.1; }), "dropout is -0.1");
  says(error_with([](ModelConfig& c) { c.norm_eps = 0; }), "norm_eps is 0");
  says(error_with([](ModelConfig& c) { c.rope_base = -1; }), "rope_base is -1");
  says(error_with([](ModelConfig& c) { c.init_std = INFINITY; }), "init_std is inf");
  const auto odd_head = [](ModelConfig& c) { c.dim = 12, c.position = Position::rope; };
  says(error_with(odd_head), "dim / heads is 3, expected an even number");
}

TEST(Validate, EverySizeIsPositive) {
  Index ModelConfig::*const sizes[] = {&ModelConfig::layers,   &ModelConfig::dim,     &ModelConfig::heads,
                                       &ModelConfig::kv_heads, &ModelConfig::ffn_dim, &ModelConfig::context,
                                       &ModelConfig::vocab};
  for (const auto size : sizes) {
    for (const Index bad : {0, -3}) EXPECT_NE(error_with([&](ModelConfig& c) { c.*size = bad; }), "");
  }
}

}  // namespace
}  // namespace tessera::nn
