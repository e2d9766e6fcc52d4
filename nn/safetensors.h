#pragma once

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
/// Its metadata alone: reads and checks the header, not the data.
std::map<std::string, std::string> load_safetensors_metadata(const std::string& path);

}  // namespace tessera::nn
