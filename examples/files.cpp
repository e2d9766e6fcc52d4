#include "examples/files.h"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "nn/file_internal.h"
#include "tensor/check.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;

/// What must not be replaced by a file of ours: /dev/null, /dev/stdout, a pipe.
bool written_directly(const std::string& path) {
  return path.starts_with("/dev/") || (fs::exists(path) && !fs::is_regular_file(path));
}

/// Through links, so that the file is replaced and not the link.
std::string target_of(const std::string& path) {
  return fs::exists(path) ? fs::canonical(path).string() : path;
}

void check_can_create(const char* flag, const std::string& path) {
  try {
    nn::OutputFile(flag, target_of(path));
  } catch (const std::runtime_error& error) {
    throw std::invalid_argument(std::string(error.what()) + ", expected a path that can be written");
  }
}

}  // namespace

void check_writable_file(const char* flag, const std::string& path) {
  check(!fs::is_directory(path), flag, path, ": is a folder, expected a file");
  if (!path.empty() && !written_directly(path)) check_can_create(flag, path);
}

void check_writable_folder(const char* flag, const std::string& path) {
  if (path.empty()) return;
  std::error_code error;
  fs::create_directories(path, error);
  const std::string reason = error ? error.message() : "a file of that name is in the way";
  check(fs::is_directory(path), flag, path, ": cannot make this folder: ", reason,
        ", expected a path that can be written");
  check_can_create(flag, path + "/checkpoint.json");
}

void write_file(const std::string& path, std::string_view contents) {
  if (!written_directly(path)) {
    nn::OutputFile file("json", target_of(path));
    file.write(contents.data(), static_cast<Index>(contents.size()));
    return file.commit();
  }
  std::ofstream file(path, std::ios::binary);
  file << contents << std::flush;
  if (!file) throw std::runtime_error("[json] " + path + ": cannot write: " + std::strerror(errno));
}

}  // namespace tessera
