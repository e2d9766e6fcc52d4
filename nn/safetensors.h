#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tensor/tensor.h"

namespace tessera::nn {

/// A safetensors file in memory: 8 bytes of header length, a JSON header, data. Dtypes F32, F64, I32.
struct SafeTensors {
  /// In the order of the file's data; tensors without data, which may share an offset, by name.
  std::vector<std::pair<std::string, Tensor>> tensors;
  std::map<std::string, std::string> metadata;

  /// @throws std::invalid_argument naming the missing tensor and the file's number of tensors.
  const Tensor& at(const std::string& name) const;
  bool contains(const std::string& name) const;
};

/// Writes aside and renames, so that `path` is never half a file. The same contents give the same bytes.
/// @throws std::runtime_error naming the path and the system's reason.
void save_safetensors(const std::string& path, const SafeTensors& contents);

/// The file is hostile until checked: header length, JSON, dtypes, shapes, offsets (in range, in order, no
/// overlap, no gap, as many bytes as the shape says). @throws std::invalid_argument "[safetensors] path: what
/// is wrong, at which offset".
SafeTensors load_safetensors(const std::string& path);

/// What a file's header says of a tensor.
struct TensorInfo {
  std::string name;
  DType dtype;
  Shape shape;
};
struct SafeTensorsHeader {
  std::vector<TensorInfo> tensors;  ///< in the order of the file's data
  std::map<std::string, std::string> metadata;
};
/// Reads and checks the header, not the data.
SafeTensorsHeader load_safetensors_header(const std::string& path);
/// Reads those tensors whose name is wanted, one after the other, so that no more than one is in memory.
void visit_safetensors(const std::string& path, const std::function<bool(const std::string&)>& wanted,
                       const std::function<void(const std::string&, const Tensor&)>& visit);

}  // namespace tessera::nn
