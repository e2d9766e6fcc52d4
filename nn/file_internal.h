#pragma once

// Files: read as hostile, written whole or not at all. Internal: not installed.

#include <string>

#include "tensor/shape.h"

namespace tessera::nn {

/// An open file of the system.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() { close(); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  int get() const { return fd_; }
  bool open() const { return fd_ >= 0; }
  /// Whether all went well, which network file systems say only now.
  bool close();

 private:
  int fd_;
};

/// A regular file, read from begin to end. All errors: std::invalid_argument "[op] path: reason".
class InputFile {
 public:
  InputFile(const char* op, const std::string& path);
  Index bytes() const { return bytes_; }
  /// The next `count` bytes.
  void read(void* to, Index count);
  /// As if they had been read.
  void skip(Index count);

 private:
  const char* op_;
  std::string path_;
  Descriptor file_;
  Index bytes_ = 0, position_ = 0;
};

/// A file written aside, which takes its name by commit(); without that nothing is left of it. A reader, even
/// after a crash, finds the old file or the new one. All errors: std::runtime_error "[op] path: cannot ...:
/// reason".
class OutputFile {
 public:
  OutputFile(const char* op, const std::string& path);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  void write(const void* from, Index count);
  void commit();

 private:
  [[noreturn]] void fail(const char* what) const;

  const char* op_;
  std::string path_, aside_;
  Descriptor file_;
  bool committed_ = false;
};

}  // namespace tessera::nn
