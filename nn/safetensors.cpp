#include "nn/safetensors.h"

#include <algorithm>
#include <bit>
#include <optional>

#include "nn/file_internal.h"
#include "nn/json_internal.h"
#include "nn/names.h"

namespace tessera::nn {
namespace {

using nlohmann::json;
static_assert(std::endian::native == std::endian::little,
              "the format is little-endian and we copy its data as it is");

constexpr const char* kOp = "safetensors";
constexpr const char* kMetadata = "__metadata__";
constexpr Index kLengthBytes = 8;
constexpr Index kMaxHeaderBytes = 100'000'000;  // the limit of the format's own library
constexpr int kMaxDepth = 3;                    // header, tensor, shape
constexpr Named<DType> kDTypes[] = {{"F32", DType::f32}, {"F64", DType::f64}, {"I32", DType::i32}};

/// What the header says of one tensor; bytes are counted from the begin of the data.
struct Entry {
  std::string name;
  DType dtype;
  Shape shape;
  Index begin, end;
};

struct Header {
  std::vector<Entry> entries;  // in the order of their data, which they tile
  std::map<std::string, std::string> metadata;
};

/// Checks what one header says. `where` starts each message: the file and the tensor.
class EntryParser {
 public:
  EntryParser(const std::string& path, const std::string& name, const json& entry)
      : name_(name), where_(path + ": tensor " + shown(name) + ": "), entry_(entry) {
    check(entry.is_object(), kOp, where_, shown(entry), ", expected an object");
  }

  Entry parse(Index data_offset, Index data_bytes) const {
    const DType type = dtype();
    const std::vector<Index> sizes = list("shape"), offsets = list("data_offsets");
    check(sizes.size() <= Shape::kMaxDims, kOp, where_, "has ", sizes.size(), " dims, expected at most ",
          Shape::kMaxDims);
    check(offsets.size() == 2 && offsets[0] <= offsets[1], kOp, where_, "data_offsets are ",
          shown(entry_["data_offsets"]), ", expected a begin and an end");
    check(offsets[1] <= data_bytes, kOp, where_, "ends at ", offsets[1], " of data that starts at offset ",
          data_offset, ", but the file ends after ", data_bytes, " bytes of it");
    const std::optional<Index> bytes = bytes_of_shape(sizes, type);
    check(bytes == offsets[1] - offsets[0], kOp, where_, "has ", offsets[1] - offsets[0], " bytes at offset ",
          data_offset + offsets[0], ", expected ", bytes ? std::to_string(*bytes) : "more than 2^63", " for ",
          shown(entry_["shape"]), " of ", to_string(type));
    return {name_, type, Shape(std::span<const Index>(sizes)), offsets[0], offsets[1]};
  }

 private:
  const json& member(const char* key) const {
    check(entry_.contains(key), kOp, where_, "has no ", key);
    return entry_[key];
  }

  DType dtype() const {
    const json& code = member("dtype");
    for (const auto& known : kDTypes) {
      if (code == known.name) return known.value;
    }
    check(false, kOp, where_, "dtype is ", shown(code), ", expected F32, F64 or I32");
    return {};
  }

  std::vector<Index> list(const char* key) const {
    const json& values = member(key);
    const bool good = values.is_array() && std::ranges::all_of(values, is_index);
    check(good, kOp, where_, key, " is ", good ? "" : shown(values),
          ", expected a list of integers from 0 to 2^63 - 1");
    std::vector<Index> result;
    for (const json& value : values) result.push_back(value.get<Index>());
    return result;
  }

  /// Nothing if the count overflows. Sizes of 0 count as 1 up to the end, as Shape wants it.
  static std::optional<Index> bytes_of_shape(const std::vector<Index>& sizes, DType dtype) {
    Index bytes = bytes_of(dtype);
    for (const Index size : sizes) {
      if (__builtin_mul_overflow(bytes, std::max<Index>(size, 1), &bytes)) return std::nullopt;
    }
    return std::ranges::count(sizes, 0) > 0 ? 0 : bytes;
  }

  std::string name_, where_;
  const json& entry_;
};

std::map<std::string, std::string> parse_metadata(const std::string& path, const json& entry) {
  const auto is_text = [](const json& value) { return value.is_string(); };
  const bool good = entry.is_object() && std::ranges::all_of(entry, is_text);
  check(good, kOp, path, ": ", kMetadata, " is ", good ? "" : shown(entry),
        ", expected an object of strings");
  return entry.get<std::map<std::string, std::string>>();
}

/// Every byte of the data belongs to one tensor: nothing is hidden, nothing is read twice.
void check_tiles(const std::string& path, const std::vector<Entry>& entries, Index data_offset,
                 Index data_bytes) {
  Index position = 0;
  for (const Entry& entry : entries) {
    check(entry.begin == position, kOp, path, ": tensor ", shown(entry.name), " begins at offset ",
          data_offset + entry.begin,
          entry.begin < position ? ", inside the tensor before it, which ends at "
                                 : ", after a gap that starts at ",
          data_offset + position);
    position = entry.end;
  }
  check(position == data_bytes, kOp, path, ": the last tensor ends at offset ", data_offset + position,
        " but the file at ", data_offset + data_bytes);
}

Header read_header(InputFile& file, const std::string& path) {
  check(file.bytes() >= kLengthBytes, kOp, path, ": is ", file.bytes(),
        " bytes long, expected at offset 0 the header's length, ", kLengthBytes, " bytes");
  std::uint64_t length = 0;
  file.read(&length, kLengthBytes);
  const Index most = std::min(kMaxHeaderBytes, file.bytes() - kLengthBytes);
  check(length <= static_cast<std::uint64_t>(most), kOp, path, ": the header's length at offset 0 is ",
        length, ", expected at most ", most, " in a file of ", file.bytes(), " bytes");
  std::string text(length, '\0');
  file.read(text.data(), static_cast<Index>(length));

  const json all = parse_json(kOp, path, text, kLengthBytes, kMaxDepth);
  check(all.is_object(), kOp, path, ": the header at offset ", kLengthBytes, " is ", shown(all),
        ", expected an object");
  const Index data_offset = kLengthBytes + static_cast<Index>(length);
  const Index data_bytes = file.bytes() - data_offset;
  Header header;
  for (const auto& [name, entry] : all.items()) {
    if (name == kMetadata) {
      header.metadata = parse_metadata(path, entry);
    } else {
      header.entries.push_back(EntryParser(path, name, entry).parse(data_offset, data_bytes));
    }
  }
  std::ranges::stable_sort(header.entries, {}, [](const Entry& e) { return std::pair(e.begin, e.end); });
  check_tiles(path, header.entries, data_offset, data_bytes);
  return header;
}

void* memory_of(const Tensor& tensor) {
  return static_cast<std::byte*>(tensor.storage()->data()) + tensor.offset() * bytes_of(tensor.dtype());
}

/// The header's JSON, filled up with spaces so that the data starts at a multiple of kAlignment for those who
/// map the file.
std::string header_of(const std::string& path, const SafeTensors& contents) {
  json header = json::object();
  if (!contents.metadata.empty()) header[kMetadata] = contents.metadata;
  Index offset = 0;
  for (const auto& [name, tensor] : contents.tensors) {
    check(tensor.defined() && name != kMetadata && !header.contains(name), kOp, path, ": tensor ",
          shown(name),
          tensor.defined() ? " is there twice, or is the name of the metadata" : " is undefined");
    header[name] = {
        {"dtype", name_of(kDTypes, tensor.dtype())},
        {"shape", std::vector<Index>(tensor.shape().sizes().begin(), tensor.shape().sizes().end())},
        {"data_offsets", {offset, offset + tensor.bytes()}}};
    offset += tensor.bytes();
  }
  std::string text = header.dump();
  const Index rest = (kLengthBytes + static_cast<Index>(text.size())) % kAlignment;
  return text.append(static_cast<std::size_t>((kAlignment - rest) % kAlignment), ' ');
}

}  // namespace

const Tensor& SafeTensors::at(const std::string& name) const {
  const auto found = std::ranges::find(tensors, name, &std::pair<std::string, Tensor>::first);
  check(found != tensors.end(), kOp, "no tensor ", shown(name), " among ", tensors.size());
  return found->second;
}

bool SafeTensors::contains(const std::string& name) const {
  return std::ranges::find(tensors, name, &std::pair<std::string, Tensor>::first) != tensors.end();
}

void save_safetensors(const std::string& path, const SafeTensors& contents) {
  const std::string header = header_of(path, contents);
  const std::uint64_t length = header.size();
  OutputFile file(kOp, path);
  file.write(&length, kLengthBytes);
  file.write(header.data(), static_cast<Index>(length));
  for (const auto& [name, tensor] : contents.tensors) file.write(memory_of(tensor), tensor.bytes());
  file.commit();
}

SafeTensors load_safetensors(const std::string& path) {
  SafeTensors contents;
  contents.metadata = load_safetensors_header(path).metadata;
  const auto all = [](const std::string&) { return true; };
  visit_safetensors(path, all, [&](const std::string& name, const Tensor& tensor) {
    contents.tensors.emplace_back(name, tensor);
  });
  return contents;
}

SafeTensorsHeader load_safetensors_header(const std::string& path) {
  InputFile file(kOp, path);
  Header header = read_header(file, path);
  SafeTensorsHeader result{{}, std::move(header.metadata)};
  for (const Entry& entry : header.entries) result.tensors.push_back({entry.name, entry.dtype, entry.shape});
  return result;
}

void visit_safetensors(const std::string& path, const std::function<bool(const std::string&)>& wanted,
                       const std::function<void(const std::string&, const Tensor&)>& visit) {
  InputFile file(kOp, path);
  for (const Entry& entry : read_header(file, path).entries) {
    if (!wanted(entry.name)) {
      file.skip(entry.end - entry.begin);
      continue;
    }
    const Tensor tensor(entry.shape, entry.dtype, Category::scratch);
    file.read(memory_of(tensor), tensor.bytes());
    visit(entry.name, tensor);
  }
}

}  // namespace tessera::nn
