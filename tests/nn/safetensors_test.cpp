#include "nn/safetensors.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <cstring>
#include <numeric>

#include "tests/nn/temporary.h"
#include "tests/tensor/gradcheck.h"

namespace tessera::nn {
namespace {

using namespace tessera::testing;

/// A file of this header and data, byte for byte.
std::string file_of(const std::string& header, const std::string& data, std::uint64_t length) {
  std::string bytes(8, '\0');
  std::memcpy(bytes.data(), &length, 8);
  return bytes + header + data;
}
std::string file_of(const std::string& header, const std::string& data = "") {
  return file_of(header, data, header.size());
}

std::string error_of_bytes(const std::string& bytes) {
  const TemporaryDirectory folder;
  const std::string path = folder.file("a.safetensors", bytes);
  return error_of([&] { load_safetensors(path); });
}

SafeTensors example() {
  return {{{"b", Tensor::from<float>({2, 3}, {1, 2, 3, 4, 5, 6})},
           {"a", Tensor::from<double>({3}, {1.0 / 3, -0.0, 1e300})},
           {"empty", Tensor({0, 4}, DType::f32)},
           {"scalar", Tensor::from<float>({}, {7})},
           {"tokens", ints({1, -2, 3, 4})}},
          {{"step", "3"}, {"note", "\"quoted\" \n \xc3\xa9"}}};
}

bool same_bits(const Tensor& a, const Tensor& b) {
  if (a.dtype() != DType::i32) return bit_equal(a, b);
  return b.dtype() == DType::i32 && a.shape() == b.shape() &&
         std::ranges::equal(a.span<std::int32_t>(), b.span<std::int32_t>());
}

void expect_same(const SafeTensors& a, const SafeTensors& b) {
  EXPECT_EQ(a.metadata, b.metadata);
  ASSERT_EQ(a.tensors.size(), b.tensors.size());
  for (const auto& [name, tensor] : a.tensors) EXPECT_TRUE(same_bits(tensor, b.at(name))) << name;
}

TEST(SafeTensors, LoadsWhatItSaved) {
  const TemporaryDirectory folder;
  const SafeTensors saved = example();
  save_safetensors(folder / "a", saved);
  const SafeTensors loaded = load_safetensors(folder / "a");
  expect_same(saved, loaded);
  for (std::size_t i = 0; i < saved.tensors.size(); ++i)
    EXPECT_EQ(loaded.tensors[i].first, saved.tensors[i].first);
  EXPECT_EQ(load_safetensors_header(folder / "a").metadata, saved.metadata);
}

TEST(SafeTensors, SavesNothingAtAll) {
  const TemporaryDirectory folder;
  save_safetensors(folder / "a", {});
  expect_same(load_safetensors(folder / "a"), {});
}

TEST(SafeTensors, SavesPartsOfTensors) {
  const TemporaryDirectory folder;
  const Tensor rows = Tensor::from<float>({3, 2}, {1, 2, 3, 4, 5, 6}).slice(1, 2);
  save_safetensors(folder / "a", {{{"rows", rows}}, {}});
  EXPECT_TRUE(bit_equal(load_safetensors(folder / "a").at("rows"), rows));
}

TEST(SafeTensors, SameContentsAreTheSameBytes) {
  const TemporaryDirectory folder;
  save_safetensors(folder / "a", example());
  save_safetensors(folder / "b", example());
  EXPECT_EQ(bytes_of_file(folder / "a"), bytes_of_file(folder / "b"));
}

TEST(SafeTensors, DataStartsAligned) {
  const TemporaryDirectory folder;
  for (std::size_t letters = 1; letters < 70; ++letters) {
    save_safetensors(folder / "a", {{{std::string(letters, 'x'), ints({1})}}, {}});
    std::uint64_t length = 0;
    std::memcpy(&length, bytes_of_file(folder / "a").data(), 8);
    EXPECT_EQ((length + 8) % 64, 0u);
  }
}

TEST(SafeTensors, NamesTheMissingTensor) {
  EXPECT_EQ(error_of([] { example().at("c"); }), "[safetensors] no tensor \"c\" among 5");
  EXPECT_TRUE(example().contains("b"));
  EXPECT_FALSE(example().contains("c"));
}

TEST(SafeTensors, LoadsTheGoldenFiles) {
  for (const std::string model : {"gpt", "llama"}) {
    const SafeTensors golden =
        load_safetensors(std::string(TESSERA_GOLDEN_DIR) + "/" + model + ".safetensors");
    EXPECT_EQ(golden.metadata.at("model"), model);
    EXPECT_EQ(golden.at("input.tokens").shape(), (Shape{3, 8}));
    EXPECT_EQ(golden.at("input.tokens").dtype(), DType::i32);
    EXPECT_EQ(golden.at("logits").shape(), (Shape{3, 8, 37}));
    EXPECT_TRUE(std::isfinite(max_abs(golden.at("logits"))));
  }
}

// ---- Saving ----

std::string save_error(const std::string& path, const SafeTensors& contents) {
  try {
    save_safetensors(path, contents);
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "";
}

TEST(SaveSafeTensors, ReplacesTheOldFileAndLeavesNoOther) {
  const TemporaryDirectory folder;
  const std::string path = folder.file("a", "old");
  save_safetensors(path, example());
  expect_same(load_safetensors(path), example());
  EXPECT_EQ(folder.num_files(), 1u);
}

TEST(SaveSafeTensors, NamesPathAndReason) {
  const TemporaryDirectory folder;
  EXPECT_EQ(save_error(folder / "none/a", {}),
            "[safetensors] " + folder / "none/a" + ": cannot create: No such file or directory");
  std::filesystem::create_directory(folder / "directory");
  EXPECT_NE(save_error(folder / "directory", {}).find("cannot replace: "), std::string::npos);
  EXPECT_EQ(folder.num_files(), 1u) << "the temporary file is still there";
}

/// Within its scope no file may grow beyond `bytes`: what a full disk does.
class FullDisk {
 public:
  explicit FullDisk(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit = {bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FullDisk() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;

 private:
  void (*handler_)(int);
  rlimit before_{};
};

TEST(SaveSafeTensors, KeepsTheOldFileWhenTheDiskIsFull) {
  const TemporaryDirectory folder;
  const std::string path = folder.file("a", "old");
  std::string error;
  {
    const FullDisk disk(1000);
    error = save_error(path, {{{"w", Tensor::zeros({1000}, DType::f32)}}, {}});
  }
  EXPECT_NE(error.find("a: cannot write: File too large"), std::string::npos) << error;
  EXPECT_EQ(bytes_of_file(path), "old");
  EXPECT_EQ(folder.num_files(), 1u) << "the temporary file is still there";
}

TEST(SaveSafeTensors, RefusesNamesThatCannotBe) {
  const TemporaryDirectory folder;
  const auto error = [&](const SafeTensors& contents) {
    return error_of([&] { save_safetensors(folder / "a", contents); });
  };
  EXPECT_NE(error({{{"w", ints({1})}, {"w", ints({2})}}, {}}).find("tensor \"w\" is there twice"),
            std::string::npos);
  EXPECT_NE(error({{{"__metadata__", ints({1})}}, {}}).find("name of the metadata"), std::string::npos);
  EXPECT_NE(error({{{"w", Tensor()}}, {}}).find("tensor \"w\" is undefined"), std::string::npos);
  EXPECT_EQ(folder.num_files(), 0u);
}

// ---- Files from elsewhere ----

// Keys in one order, data in the other, a gap of spaces in the header, one tensor without data between the
// two.
TEST(LoadSafeTensors, OrderOfNamesIsFree) {
  const TemporaryDirectory folder;
  const std::string header = R"({"a":{"dtype":"I32","shape":[1],"data_offsets":[8,12]},
      "b":{"shape":[2],"data_offsets":[0,8],"dtype":"I32"},
      "none":{"dtype":"F64","shape":[3,0],"data_offsets":[8,8]}}   )";
  const SafeTensors loaded =
      load_safetensors(folder.file("a", file_of(header, std::string("\1\0\0\0\2\0\0\0\3\0\0\0", 12))));
  ASSERT_EQ(loaded.tensors.size(), 3u);
  EXPECT_EQ(loaded.tensors[0].first, "b");
  EXPECT_EQ(loaded.tensors[1].first, "none");
  EXPECT_TRUE(same_bits(loaded.at("b"), ints({1, 2})));
  EXPECT_TRUE(same_bits(loaded.at("a"), ints({3})));
  EXPECT_EQ(loaded.at("none").shape(), (Shape{3, 0}));
}

struct Hostile {
  const char* name;
  std::string bytes;
  std::vector<std::string> says;  ///< parts of the message
};
std::ostream& operator<<(std::ostream& out, const Hostile& hostile) { return out << hostile.name; }

const std::string kData(16, 'x');

/// One tensor "w" with this entry, before 16 bytes of data.
std::string with_entry(const std::string& entry) { return file_of("{\"w\":" + entry + "}", kData); }
std::string with_shape(const std::string& shape, const std::string& offsets = "[0,16]") {
  return with_entry("{\"dtype\":\"F32\",\"shape\":" + shape + ",\"data_offsets\":" + offsets + "}");
}
std::string entry_of(const std::string& name, const std::string& size, const std::string& offsets) {
  return "\"" + name + "\":{\"dtype\":\"F32\",\"shape\":[" + size + "],\"data_offsets\":" + offsets + "}";
}
/// Two tensors of 8 bytes, "a" and "b", before 16 bytes of data.
std::string with_offsets(const std::string& a, const std::string& b) {
  return file_of("{" + entry_of("a", "2", a) + "," + entry_of("b", "2", b) + "}", kData);
}

/// What a message calls the place `i` bytes into the data of such a file.
std::string offset_of(const std::string& bytes, std::size_t i) {
  return "offset " + std::to_string(bytes.size() - kData.size() + i);
}

std::vector<Hostile> hostile_files() {
  const std::string list = "list of integers from 0 to 2^63 - 1", huge = "18446744073709551615";
  const std::string late = with_shape("[2]", "[8,16]"), early = with_shape("[2]", "[0,8]");
  const std::string overlap = with_offsets("[0,8]", "[4,12]"), equal = with_offsets("[0,8]", "[0,8]");
  return {
      {"empty", "", {"is 0 bytes long", "offset 0"}},
      {"too_short", "1234567", {"is 7 bytes long"}},
      {"length_beyond_the_file", file_of("{}", "", 3), {"length at offset 0 is 3", "at most 2", "10 bytes"}},
      {"length_huge", file_of("{}", "", ~std::uint64_t{0}), {"is " + huge, "at most 2"}},
      {"length_negative", file_of("{}", "", std::uint64_t{1} << 63), {"is 9223372036854775808", "at most 2"}},
      {"header_truncated", file_of("{\"w\":{\"dtype\":\"F32\""), {"no valid JSON at offset 27"}},
      {"header_empty", file_of(""), {"no valid JSON at offset 8"}},
      {"header_of_spaces", file_of("        "), {"no valid JSON at offset"}},
      {"no_json", file_of("{\"w\": pickle}"), {"no valid JSON at offset 14", "{\\\"w\\\":"}},
      {"text_after_json", file_of("{}{}"), {"no valid JSON at offset 10"}},
      {"zero_byte_hides_text", file_of(std::string("{}\0pickle", 9)), {"no valid JSON at offset 10"}},
      {"invalid_utf8", file_of("{\"\xff\":1}"), {"no valid JSON at offset 10"}},
      {"control_characters", file_of("{\"\x1b[2J\":1}"), {"no valid JSON at offset 10"}},
      {"number_beyond_double", file_of("{\"w\":1e999}"), {"beyond the range of double"}},
      {"a_list", file_of("[1,2]"), {"header at offset 8 is [1,2]", "expected an object"}},
      {"deep_lists", file_of(std::string(1 << 20, '[')), {"nested deeper than 3 levels"}},
      {"deep_objects", file_of("{\"w\":{\"shape\":[[[[1]]]]}}"), {"nested deeper than 3 levels"}},
      {"name_twice",
       file_of("{" + entry_of("w", "4", "[0,16]") + "," + entry_of("w", "4", "[0,16]") + "}", kData),
       {"name \"w\" twice"}},
      {"escaped_name_twice",
       file_of("{" + entry_of("w", "2", "[0,8]") + "," + entry_of("\\u0077", "2", "[8,16]") + "}", kData),
       {"name \"w\" twice"}},
      {"key_twice",
       with_entry(R"({"dtype":"F32","dtype":"I32","shape":[4],"data_offsets":[0,16]})"),
       {"name \"dtype\" twice"}},
      {"entry_is_no_object", with_entry("17"), {"tensor \"w\": 17, expected an object"}},
      {"no_dtype", with_entry(R"({"shape":[4],"data_offsets":[0,16]})"), {"tensor \"w\": has no dtype"}},
      {"no_shape", with_entry(R"({"dtype":"F32","data_offsets":[0,16]})"), {"tensor \"w\": has no shape"}},
      {"no_offsets", with_entry(R"({"dtype":"F32","shape":[4]})"), {"tensor \"w\": has no data_offsets"}},
      {"dtype_unknown",
       with_entry(R"({"dtype":"BF16","shape":[8],"data_offsets":[0,16]})"),
       {"dtype is \"BF16\"", "F32, F64 or I32"}},
      {"dtype_is_a_number", with_entry(R"({"dtype":32,"shape":[4],"data_offsets":[0,16]})"), {"dtype is 32"}},
      {"shape_is_no_list", with_shape("4"), {"shape is 4, expected a " + list}},
      {"shape_of_strings", with_shape("[\"4\"]"), {"shape is [\"4\"]", list}},
      {"shape_fraction", with_shape("[4.0]"), {"shape is [4.0]", list}},
      {"shape_negative", with_shape("[-4]"), {"shape is [-4]", list}},
      {"shape_two_negatives", with_shape("[-2,-2]"), {"shape is [-2,-2]", list}},
      {"shape_beyond_64_bits", with_shape("[" + huge + "]"), {"shape is [" + huge + "]", list}},
      {"shape_overflows",
       with_shape("[4294967296,4294967296]"),
       {"16 bytes", "more than 2^63", "[4294967296,4294967296]"}},
      {"shape_overflows_to_what_is_there",
       with_shape("[4611686018427387905,4]"),
       {"16 bytes", "more than 2^63"}},
      {"shape_huge_but_empty",
       with_shape("[0,4294967296,4294967296]", "[0,0]"),
       {"0 bytes", "more than 2^63"}},
      {"shape_has_many_dims", with_shape("[1,1,1,1,4]"), {"5 dims", "at most 4"}},
      {"shape_too_large",
       with_shape("[5]"),
       {"16 bytes at " + offset_of(with_shape("[5]"), 0), "expected 20", "[5]"}},
      {"shape_too_small",
       with_shape("[3]"),
       {"16 bytes at " + offset_of(with_shape("[3]"), 0), "expected 12", "[3]"}},
      {"offsets_are_no_list", with_shape("[4]", "16"), {"data_offsets is 16", list}},
      {"offsets_one", with_shape("[4]", "[16]"), {"data_offsets are [16]", "a begin and an end"}},
      {"offsets_three", with_shape("[4]", "[0,8,16]"), {"data_offsets are [0,8,16]", "a begin and an end"}},
      {"offsets_backwards", with_shape("[4]", "[16,0]"), {"data_offsets are [16,0]", "a begin and an end"}},
      {"offsets_negative", with_shape("[4]", "[-16,0]"), {"data_offsets is [-16,0]", list}},
      {"offsets_beyond_the_file",
       with_shape("[8]", "[0,32]"),
       {"ends at 32", offset_of(with_shape("[8]", "[0,32]"), 0), "after 16 bytes"}},
      {"offsets_huge",
       with_shape("[1152921504606846976]", "[0,4611686018427387904]"),
       {"ends at 4611686018427387904", "after 16"}},
      {"offsets_leave_a_begin", late, {"tensor \"w\" begins at " + offset_of(late, 8), "gap"}},
      {"offsets_leave_an_end",
       early,
       {"last tensor ends at " + offset_of(early, 8), "file at " + std::to_string(early.size())}},
      {"offsets_overlap", overlap, {"tensor \"b\" begins at " + offset_of(overlap, 4), "inside"}},
      {"offsets_equal", equal, {"tensor \"b\" begins at " + offset_of(equal, 0), "inside"}},
      {"offsets_gap",
       file_of("{" + entry_of("a", "1", "[0,4]") + "," + entry_of("b", "2", "[8,16]") + "}", kData),
       {"tensor \"b\" begins at offset", "gap"}},
      {"data_without_tensor", file_of("{}", kData), {"last tensor ends at offset 10", "file at 26"}},
      {"metadata_is_no_object",
       file_of(R"({"__metadata__":[1]})"),
       {"__metadata__ is [1]", "object of strings"}},
      {"metadata_of_numbers",
       file_of(R"({"__metadata__":{"step":3}})"),
       {"{\"step\":3}", "object of strings"}},
      {"long_name", file_of("{\"" + std::string(100000, 'n') + "\":1}"), {"tensor \"nnnn", "..."}},
  };
}

class HostileFile : public ::testing::TestWithParam<Hostile> {};
INSTANTIATE_TEST_SUITE_P(LoadSafeTensors, HostileFile, ::testing::ValuesIn(hostile_files()),
                         [](const auto& hostile) { return std::string(hostile.param.name); });

TEST_P(HostileFile, IsOneClearMessage) {
  const std::string text = error_of_bytes(GetParam().bytes);
  EXPECT_NE(text, "") << "no error";
  EXPECT_EQ(text.rfind("[safetensors] /", 0), 0u) << text;
  EXPECT_NE(text.find("a.safetensors: "), std::string::npos) << text;
  EXPECT_LT(text.size(), 500u);
  for (const char c : text) EXPECT_TRUE(c >= ' ' && c <= '~') << "character " << int{c};
  for (const std::string& part : GetParam().says)
    EXPECT_NE(text.find(part), std::string::npos) << part << " in: " << text;
}

TEST(LoadSafeTensors, NeedsAFile) {
  const TemporaryDirectory folder;
  EXPECT_NE(error_of([&] { load_safetensors(folder / "none"); }).find("none: cannot open: No such file"),
            std::string::npos);
  EXPECT_NE(error_of([&] { load_safetensors(folder.path()); }).find("is no regular file"), std::string::npos);
}

/// The bytes of a good file.
std::string good_bytes() {
  const TemporaryDirectory folder;
  save_safetensors(folder / "a", example());
  return bytes_of_file(folder / "a");
}

TEST(LoadSafeTensors, EveryTruncationIsAnError) {
  const std::string bytes = good_bytes();
  for (std::size_t size = 0; size < bytes.size(); ++size)
    EXPECT_NE(error_of_bytes(bytes.substr(0, size)), "") << size;
  EXPECT_NE(error_of_bytes(bytes + "x"), "") << "one byte more";
}

// No change of a byte may do worse than std::invalid_argument, which error_of takes; the sanitizers watch the
// rest.
TEST(LoadSafeTensors, SurvivesEveryChangedByte) {
  const TemporaryDirectory folder;
  const std::string bytes = good_bytes();
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    std::string changed = bytes;
    changed[i] = static_cast<char>(changed[i] ^ (1 << i % 8));
    const std::string path = folder.file("a", changed);
    error_of([&] { load_safetensors(path); });
  }
}

}  // namespace
}  // namespace tessera::nn
