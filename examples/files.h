#pragma once

#include <string>
#include <string_view>

namespace tessera {

/// Refuses at start-up what could not be written at the end; leaves no file behind. An empty path is no
/// request.
/// @throws std::invalid_argument naming flag, path and reason.
void check_writable_file(const char* flag, const std::string& path);
/// The same for files in a folder, which is made.
void check_writable_folder(const char* flag, const std::string& path);

/// Writes a whole file or none; pipes and devices are written directly. @throws std::runtime_error naming
/// path and reason.
void write_file(const std::string& path, std::string_view contents);

}  // namespace tessera
