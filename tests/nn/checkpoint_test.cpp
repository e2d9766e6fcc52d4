#include "nn/checkpoint.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "nn/safetensors.h"
#include "tests/nn/temporary.h"
#include "tests/nn/tiny_model.h"
#include "tests/tensor/gradcheck.h"

namespace tessera::nn {
namespace {

using namespace tessera::testing;
using nlohmann::json;

ModelConfig tiny(bool llama = false) { return tiny_model(llama); }

/// A model in training.
struct Trained {
  explicit Trained(std::uint64_t seed, DType dtype = DType::f64, bool llama = false, Index steps = 1)
      : model(tiny(llama)), optimizer(model.parameters(), {}) {
    model.materialize(seed, dtype);
    for (Index step = 0; step < steps; ++step) {
      for (const ParameterPtr& p : model.parameters())
        p->owned_grad = normal(p->owned.shape, p->name, 1, dtype);
      optimizer.step(0.1);
    }
  }
  void save(const std::string& folder) const {
    save_checkpoint(folder, {model.config(), optimizer.steps(), {{"seed", "1"}}}, model, optimizer);
  }

  Transformer model;
  Optimizer optimizer;
};

void expect_equal_values(const Transformer& a, const Transformer& b) {
  const Parameters of_a = a.parameters(), of_b = b.parameters();
  ASSERT_EQ(of_a.size(), of_b.size());
  for (std::size_t i = 0; i < of_a.size(); ++i) {
    EXPECT_EQ(of_a[i]->name, of_b[i]->name);
    EXPECT_TRUE(bit_equal(of_a[i]->value, of_b[i]->value)) << of_a[i]->name;
  }
}

std::string model_file(const TemporaryDirectory& folder) { return folder / "c/step-1/model-0.safetensors"; }
std::string manifest(const TemporaryDirectory& folder) { return folder / "c/checkpoint.json"; }

/// Saves a model after a change to its file's contents.
template <class Change>
void save_changed(const TemporaryDirectory& folder, Change&& change) {
  Trained(1).save(folder / "c");
  SafeTensors contents = load_safetensors(model_file(folder));
  change(contents);
  save_safetensors(model_file(folder), contents);
}
std::string load_error(const TemporaryDirectory& folder) {
  Transformer model(tiny());
  model.materialize(2, DType::f64);
  return error_of([&] { Checkpoint(folder / "c").load(model.parameters()); });
}
void expect_load_error(const TemporaryDirectory& folder, const std::string& words) {
  const std::string error = load_error(folder);
  EXPECT_NE(error.find(words), std::string::npos) << error;
}

TEST(Checkpoint, LoadsWhatItSaved) {
  for (const bool llama : {false, true}) {
    for (const DType dtype : {DType::f32, DType::f64}) {
      const TemporaryDirectory folder;
      const Trained saved(1, dtype, llama, 3);
      Trained loaded(2, dtype, llama, 0);
      saved.save(folder / "new/folder");
      const Checkpoint checkpoint(folder / "new/folder");
      checkpoint.load(loaded.model.parameters());
      checkpoint.load(loaded.optimizer);
      expect_equal_values(saved.model, loaded.model);
      EXPECT_EQ(loaded.optimizer.steps(), 3);
      for (std::size_t i = 0; i < saved.optimizer.states().size(); ++i) {
        EXPECT_TRUE(bit_equal(loaded.optimizer.states()[i].first, saved.optimizer.states()[i].first));
        EXPECT_TRUE(bit_equal(loaded.optimizer.states()[i].second, saved.optimizer.states()[i].second));
      }
      EXPECT_EQ(to_json(checkpoint.info().config), to_json(tiny(llama)));
      EXPECT_EQ(checkpoint.info().step, 3);
      EXPECT_EQ(checkpoint.info().settings.at("seed"), "1");
    }
  }
}

TEST(Checkpoint, HoldsEachParameterUnderItsName) {
  const TemporaryDirectory folder;
  const Trained saved(1);
  saved.save(folder / "c");
  const SafeTensors contents = load_safetensors(model_file(folder));
  EXPECT_EQ(contents.tensors.size(), saved.model.parameters().size());
  for (const ParameterPtr& p : saved.model.parameters())
    EXPECT_TRUE(bit_equal(contents.at(p->name), p->value)) << p->name;
}

TEST(Checkpoint, ConvertsToTheModelsPrecision) {
  const TemporaryDirectory folder;
  const Trained saved(1, DType::f64, false, 0), expected(1, DType::f32, false, 0);
  Trained loaded(2, DType::f32, false, 0);
  save_checkpoint(folder / "c", {saved.model.config(), 0}, saved.model, saved.optimizer);
  Checkpoint(folder / "c").load(loaded.model.parameters());
  expect_equal_values(loaded.model, expected.model);
}

/// A model that uses some columns of every matrix and owns some rows of them.
void narrow(const Transformer& model) {
  for (const ParameterPtr& p : model.parameters()) {
    const int last = p->global_shape.num_dims() - 1;
    p->used = p->used.part(last, 1, p->global_shape[last] - 2);
    p->owned = p->used.rows(1, 3);
  }
}

TEST(Checkpoint, CutsEachBox) {
  const TemporaryDirectory folder;
  Trained(1, DType::f64, false, 0).save(folder / "c");
  Transformer loaded(tiny()), expected(tiny());
  narrow(loaded);
  narrow(expected);
  loaded.materialize(2, DType::f64);
  expected.materialize(1, DType::f64);
  Checkpoint(folder / "c").load(loaded.parameters());
  expect_equal_values(loaded, expected);
  EXPECT_TRUE(bit_equal(loaded.parameters()[0]->owned_value, expected.parameters()[0]->owned_value));
}

TEST(Checkpoint, FillsOwnedRowsKeptApart) {
  const TemporaryDirectory folder;
  const Trained saved(1, DType::f64, false, 0);
  saved.save(folder / "c");
  Transformer loaded(tiny());
  for (const ParameterPtr& p : loaded.parameters()) {
    p->owned = p->used.rows(1, 3);
    p->owned_apart = true;
  }
  loaded.materialize(2, DType::f64);
  Checkpoint(folder / "c").load(loaded.parameters());
  const Parameters got = loaded.parameters(), want = saved.model.parameters();
  for (std::size_t i = 0; i < got.size(); ++i)
    EXPECT_TRUE(bit_equal(got[i]->owned_value, want[i]->value.slice(1, 3)));
}

/// One model as three processes that own uneven rows of it: some of them none.
void save_in_parts(const std::string& directory, const Transformer& whole, Index overlap = 0) {
  const std::string folder = new_checkpoint_folder(directory, 0);
  for (int part = 0; part < 3; ++part) {
    BoxTensors boxes;
    for (const ParameterPtr& p : whole.parameters()) {
      const Index rows = p->used.shape[0], begin = part * rows / 3,
                  end = std::min(rows, (part + 1) * rows / 3 + overlap);
      boxes.push_back(
          {p->name, p->name, p->global_shape, p->used.rows(begin, end), p->value.slice(begin, end)});
    }
    write_checkpoint_part(directory, folder, part, boxes, {});
  }
  commit_checkpoint(directory, folder, 3, {whole.config(), 0});
}

TEST(Checkpoint, PutsPartsTogether) {
  const TemporaryDirectory folder;
  Transformer saved(tiny(true)), loaded(tiny(true));
  saved.materialize(1, DType::f32);
  loaded.materialize(2, DType::f32);
  save_in_parts(folder / "c", saved);
  Checkpoint(folder / "c").load(loaded.parameters());
  expect_equal_values(saved, loaded);
}

TEST(Checkpoint, RefusesPartsThatAreNotOneModel) {
  const TemporaryDirectory folder;
  Transformer model(tiny());
  model.materialize(1, DType::f64);
  save_in_parts(folder / "c", model, 1);
  expect_load_error(folder, "two boxes overlap");

  const TemporaryDirectory gap;
  save_in_parts(gap / "c", model);
  const std::string part = gap / "c/step-0/model-1.safetensors";
  SafeTensors contents = load_safetensors(part);
  contents.tensors.erase(contents.tensors.begin());
  save_safetensors(part, contents);
  expect_load_error(gap, "embedding.weight: its boxes have 300 elements, expected the 444 of [37, 12]");
  std::filesystem::remove(part);
  expect_load_error(gap, "model-1.safetensors: cannot open");
}

TEST(Checkpoint, KeepsTheLastOneSavedAndNothingElse) {
  const TemporaryDirectory folder;
  Trained run(1);
  run.save(folder / "c");
  run.save(folder / "c");
  EXPECT_FALSE(std::filesystem::exists(folder / "c/step-1"));
  EXPECT_TRUE(std::filesystem::exists(folder / "c/step-1.2"));
  std::filesystem::create_directory(folder / "c/step-one");  // none of ours
  run.save(folder / "c");
  EXPECT_TRUE(std::filesystem::exists(folder / "c/step-one"));
  // A save that did not come to its end is no checkpoint: the one before counts.
  write_checkpoint_part(folder / "c", new_checkpoint_folder(folder / "c", 7), 0, {}, {});
  EXPECT_EQ(Checkpoint(folder / "c").info().step, 1);
}

TEST(Checkpoint, NamesTheFolderThatCannotBe) {
  const TemporaryDirectory folder;
  folder.file("taken", "");
  try {
    Trained(1).save(folder / "taken/model");
    FAIL() << "no error";
  } catch (const std::runtime_error& error) {
    EXPECT_NE(std::string(error.what()).find("taken/model: cannot create: "), std::string::npos)
        << error.what();
  }
}

TEST(HostileCheckpoint, TensorsThatAreNotTheModels) {
  const auto error_after = [](auto change) {
    const TemporaryDirectory folder;
    save_changed(folder, change);
    return load_error(folder);
  };
  const auto expect = [](const std::string& error, const std::string& words) {
    EXPECT_NE(error.find(words), std::string::npos) << error;
  };
  expect(error_after([](SafeTensors& c) { c.tensors.erase(c.tensors.begin() + 3); }),
         "blocks.0.norm1.bias: its boxes have 0 elements");
  expect(error_after([](SafeTensors& c) { c.tensors[0].first = "head.weight"; }), "no global_shape");
  expect(error_after([](SafeTensors& c) { c.tensors[0].second = Tensor({37, 12}, DType::i32); }), "is i32");
  expect(error_after([](SafeTensors& c) {
           c.tensors[0].second = Tensor::zeros({37, 13}, DType::f64);
         }),
         "is no part of [37, 12]");
  expect(error_after([](SafeTensors& c) { c.tensors[0].second = Tensor::zeros({37}, DType::f64); }),
         "expected 1 whole numbers");
  expect(error_after([](SafeTensors& c) { c.metadata.clear(); }), "no metadata named boxes");
  for (const char* text :
       {"", "[]", "{\"embedding.weight\": 3}", "{\"embedding.weight\": {\"global_shape\": [-1, 2]}}",
        "{\"embedding.weight\": {\"global_shape\": [37, 12], \"offset\": [1, 0]}}"})
    EXPECT_NE(error_after([&](SafeTensors& c) { c.metadata = {{"boxes", text}}; }), "") << text;
}

TEST(HostileCheckpoint, OtherShapesAndNames) {
  const TemporaryDirectory folder;
  Trained(1).save(folder / "c");
  ModelConfig wide = tiny();
  wide.vocab = 38;
  Transformer model(wide), llama(tiny(true));
  model.materialize(1, DType::f64);
  llama.materialize(1, DType::f64);
  EXPECT_NE(error_of([&] {
              Checkpoint(folder / "c").load(model.parameters());
            }).find("embedding.weight is [37, 12] but here it is [38, 12]"),
            std::string::npos);
  EXPECT_NE(
      error_of([&] { Checkpoint(folder / "c").load(llama.parameters()); }).find("which is not wanted here"),
      std::string::npos);
}

// An error leaves the model as it was, not half filled.
TEST(HostileCheckpoint, FillsAllOrNothing) {
  const TemporaryDirectory folder;
  save_changed(folder, [](SafeTensors& contents) { contents.tensors.pop_back(); });
  Transformer model(tiny()), untouched(tiny());
  model.materialize(2, DType::f64);
  untouched.materialize(2, DType::f64);
  EXPECT_NE(error_of([&] { Checkpoint(folder / "c").load(model.parameters()); }), "");
  expect_equal_values(model, untouched);
}

TEST(HostileCheckpoint, NeedsStorage) {
  const TemporaryDirectory folder;
  Trained(1).save(folder / "c");
  Transformer model(tiny());
  EXPECT_NE(error_of([&] { Checkpoint(folder / "c").load(model.parameters()); }).find("materialize"),
            std::string::npos);
}

TEST(HostileCheckpoint, ManifestMayBeAnything) {
  const TemporaryDirectory folder;
  Trained(1).save(folder / "c");
  const json good = json::parse(bytes_of_file(manifest(folder)));
  const auto error = [&](const std::string& text) {
    folder.file("c/checkpoint.json", text);
    return error_of([&] { Checkpoint(folder / "c"); });
  };
  const auto with = [&](const char* key, const json& value) {
    json changed = good;
    changed[key] = value;
    return error(changed.dump());
  };
  EXPECT_EQ(error(good.dump()), "");
  EXPECT_NE(error("").find("no valid JSON"), std::string::npos);
  EXPECT_NE(error(std::string(1000, '[')).find("nested deeper"), std::string::npos);
  EXPECT_NE(error(std::string(2 << 20, ' ')).find("bytes long"), std::string::npos);
  EXPECT_NE(error("{}").find("has no folder"), std::string::npos);
  for (const json& place : {json("../elsewhere"), json("step-1/.."), json(""), json(7), json("step-1\n")})
    EXPECT_NE(with("folder", place).find("expected step-N"), std::string::npos) << place;
  for (const json& parts : {json(0), json(-1), json(1.5), json("2"), json(std::int64_t{1} << 60)})
    EXPECT_NE(with("parts", parts).find("parts is"), std::string::npos) << parts;
  EXPECT_NE(with("step", -1).find("step is -1"), std::string::npos);
  EXPECT_NE(with("config", {{"heads", 5}}).find("heads is 5"), std::string::npos);
  EXPECT_NE(with("settings", {{"seed", 3}}).find("object of strings"), std::string::npos);
  EXPECT_NE(error_of([&] { Checkpoint(folder / "none"); }).find("No such file"), std::string::npos);
}

}  // namespace
}  // namespace tessera::nn
