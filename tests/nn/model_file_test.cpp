#include "nn/model_file.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "nn/safetensors.h"
#include "tests/nn/temporary.h"
#include "tests/nn/tiny_model.h"
#include "tests/tensor/gradcheck.h"

namespace tessera::nn {
namespace {

using namespace tessera::testing;

void expect_equal_values(const Transformer& a, const Transformer& b) {
  const Parameters of_a = a.parameters(), of_b = b.parameters();
  ASSERT_EQ(of_a.size(), of_b.size());
  for (std::size_t i = 0; i < of_a.size(); ++i) {
    EXPECT_EQ(of_a[i]->name, of_b[i]->name);
    EXPECT_TRUE(bit_equal(of_a[i]->value, of_b[i]->value)) << of_a[i]->name;
  }
}

std::string file_in(const TemporaryDirectory& folder) { return folder / "model.safetensors"; }

/// Saves a tiny model after a change to its file's contents.
template <class Change>
void save_changed(const TemporaryDirectory& folder, Change&& change) {
  Transformer model(tiny_model(false));
  model.materialize(1, DType::f64);
  save_model(folder.path(), model, 0);
  SafeTensors contents = load_safetensors(file_in(folder));
  change(contents);
  save_safetensors(file_in(folder), contents);
}
std::string load_error(const TemporaryDirectory& folder) {
  Transformer model(tiny_model(false));
  model.materialize(2, DType::f64);
  return error_of([&] { load_model(folder.path(), model); });
}

TEST(ModelFile, LoadsWhatItSaved) {
  for (const bool llama : {false, true}) {
    for (const DType dtype : {DType::f32, DType::f64}) {
      const TemporaryDirectory folder;
      Transformer saved(tiny_model(llama)), loaded(tiny_model(llama));
      saved.materialize(1, dtype);
      loaded.materialize(2, dtype);
      save_model(folder / "new/folder", saved, 7);
      load_model(folder / "new/folder", loaded);
      expect_equal_values(saved, loaded);
    }
  }
}

TEST(ModelFile, HoldsConfigurationAndStep) {
  const TemporaryDirectory folder;
  Transformer model(tiny_model(true));
  model.materialize(1, DType::f32);
  save_model(folder.path(), model, 7);
  EXPECT_EQ(to_json(load_config(folder.path())), to_json(tiny_model(true)));
  EXPECT_EQ(load_safetensors_metadata(file_in(folder)).at("step"), "7");
}

TEST(ModelFile, HoldsEachParameterUnderItsName) {
  const TemporaryDirectory folder;
  Transformer model(tiny_model(false));
  model.materialize(1, DType::f64);
  save_model(folder.path(), model, 0);
  const SafeTensors contents = load_safetensors(file_in(folder));
  EXPECT_EQ(contents.tensors.size(), model.parameters().size());
  for (const ParameterPtr& p : model.parameters())
    EXPECT_TRUE(bit_equal(contents.at(p->name), p->value)) << p->name;
}

TEST(ModelFile, ConvertsToTheModelsPrecision) {
  const TemporaryDirectory folder;
  Transformer saved(tiny_model(false)), loaded(tiny_model(false)), expected(tiny_model(false));
  saved.materialize(1, DType::f64);
  loaded.materialize(2, DType::f32);
  expected.materialize(1, DType::f32);
  save_model(folder.path(), saved, 0);
  load_model(folder.path(), loaded);
  expect_equal_values(loaded, expected);
}

/// A model that uses some columns of every matrix and owns some rows of them.
void narrow(const Transformer& model) {
  for (const ParameterPtr& p : model.parameters()) {
    const int last = p->global_shape.num_dims() - 1;
    p->used = p->used.part(last, 1, p->global_shape[last] - 2);
    p->owned = p->used.rows(1, 3);
  }
}

TEST(ModelFile, CutsEachBox) {
  const TemporaryDirectory folder;
  Transformer saved(tiny_model(false)), loaded(tiny_model(false)), expected(tiny_model(false));
  saved.materialize(1, DType::f64);
  save_model(folder.path(), saved, 0);
  narrow(loaded);
  narrow(expected);
  loaded.materialize(2, DType::f64);
  expected.materialize(1, DType::f64);
  load_model(folder.path(), loaded);
  expect_equal_values(loaded, expected);
  EXPECT_TRUE(bit_equal(loaded.parameters()[0]->owned_value, expected.parameters()[0]->owned_value));
}

// Fully sharded: the owned rows have memory of their own, and the used box has none between steps.
TEST(ModelFile, FillsOwnedRowsKeptApart) {
  const TemporaryDirectory folder;
  Transformer saved(tiny_model(false)), loaded(tiny_model(false)), expected(tiny_model(false));
  saved.materialize(1, DType::f64);
  save_model(folder.path(), saved, 0);
  loaded.materialize(2, DType::f64);
  expected.materialize(1, DType::f64);
  for (const ParameterPtr& p : loaded.parameters()) {
    p->owned = p->used.rows(1, 3);
    p->owned_value = p->owned_rows(p->value).clone();
    p->value.storage()->release();
  }
  load_model(folder.path(), loaded);
  const Parameters got = loaded.parameters(), want = expected.parameters();
  for (std::size_t i = 0; i < got.size(); ++i)
    EXPECT_TRUE(bit_equal(got[i]->owned_value, want[i]->value.slice(1, 3)));
}

TEST(SaveModel, RefusesAPartOfAModel) {
  const TemporaryDirectory folder;
  Transformer model(tiny_model(false));
  EXPECT_NE(error_of([&] { save_model(folder.path(), model, 0); }).find("embedding.weight"),
            std::string::npos);
  narrow(model);
  model.materialize(1, DType::f32);
  EXPECT_NE(error_of([&] { save_model(folder.path(), model, 0); }).find("[37, 12] is not held as a whole"),
            std::string::npos);
  EXPECT_EQ(folder.num_files(), 0u);
}

TEST(SaveModel, NamesTheFolderThatCannotBe) {
  const TemporaryDirectory folder;
  Transformer model(tiny_model(false));
  model.materialize(1, DType::f32);
  folder.file("taken", "");
  try {
    save_model(folder / "taken/model", model, 0);
    FAIL() << "no error";
  } catch (const std::runtime_error& error) {
    EXPECT_NE(std::string(error.what()).find("taken/model: cannot create: "), std::string::npos)
        << error.what();
  }
}

TEST(LoadModel, NamesTheMissingTensor) {
  const TemporaryDirectory folder;
  save_changed(folder, [](SafeTensors& contents) { contents.tensors.erase(contents.tensors.begin() + 3); });
  EXPECT_NE(load_error(folder).find("has no tensor blocks.0.norm1.bias"), std::string::npos)
      << load_error(folder);
}

TEST(LoadModel, NamesTheTensorTheModelLacks) {
  const TemporaryDirectory folder;
  save_changed(folder, [](SafeTensors& contents) {
    contents.tensors.emplace_back("head.weight", Tensor::zeros({2}, DType::f32));
  });
  EXPECT_NE(load_error(folder).find("has the tensor \"head.weight\" [2]"), std::string::npos)
      << load_error(folder);
}

TEST(LoadModel, NamesTheOtherShape) {
  const TemporaryDirectory folder;
  save_changed(folder, [](SafeTensors& contents) {
    contents.tensors[0].second = Tensor::zeros({12, 37}, DType::f64);
  });
  const std::string text = load_error(folder);
  EXPECT_NE(text.find("embedding.weight is f64[12, 37] but the model's is [37, 12]"), std::string::npos)
      << text;
}

TEST(LoadModel, RefusesIntegers) {
  const TemporaryDirectory folder;
  save_changed(folder, [](SafeTensors& contents) {
    contents.tensors[0].second = Tensor({37, 12}, DType::i32);
  });
  EXPECT_NE(load_error(folder).find("embedding.weight is i32[37, 12]"), std::string::npos);
}

// An error leaves the model as it was, not half filled.
TEST(LoadModel, FillsAllOrNothing) {
  const TemporaryDirectory folder;
  save_changed(folder, [](SafeTensors& contents) { contents.tensors.pop_back(); });
  Transformer model(tiny_model(false)), untouched(tiny_model(false));
  model.materialize(2, DType::f64);
  untouched.materialize(2, DType::f64);
  EXPECT_NE(error_of([&] { load_model(folder.path(), model); }), "");
  expect_equal_values(model, untouched);
}

TEST(LoadModel, NeedsStorage) {
  const TemporaryDirectory folder;
  save_changed(folder, [](SafeTensors&) {});
  Transformer model(tiny_model(false));
  EXPECT_NE(error_of([&] { load_model(folder.path(), model); }).find("materialize"), std::string::npos);
}

TEST(LoadConfig, MetadataMayBeAnything) {
  const TemporaryDirectory folder;
  const auto error = [&](const std::string& config) {
    save_changed(folder, [&](SafeTensors& contents) { contents.metadata = {{"config", config}}; });
    return error_of([&] { load_config(folder.path()); });
  };
  EXPECT_NE(error("").find("metadata config: no valid JSON at offset 0"), std::string::npos);
  EXPECT_NE(error(std::string(1000, '[')).find("nested deeper"), std::string::npos);
  EXPECT_NE(error("{\"heads\": 5}").find("heads is 5"), std::string::npos);
  save_changed(folder, [](SafeTensors& contents) { contents.metadata.clear(); });
  EXPECT_NE(error_of([&] { load_config(folder.path()); }).find("has no metadata named config"),
            std::string::npos);
  EXPECT_NE(error_of([&] { load_config(folder / "none"); }).find("No such file"), std::string::npos);
}

}  // namespace
}  // namespace tessera::nn
