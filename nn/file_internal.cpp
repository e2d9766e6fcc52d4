#include "nn/file_internal.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <utility>

#include "tensor/check.h"

namespace tessera::nn {

bool Descriptor::close() {
  const int fd = std::exchange(fd_, -1);
  return fd < 0 || ::close(fd) == 0;
}

// Opening a pipe would wait for its writer; O_NONBLOCK does not, and means nothing for regular files.
InputFile::InputFile(const char* op, const std::string& path)
    : op_(op), path_(path), file_(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC)) {
  check(file_.open(), op, path, ": cannot open: ", std::strerror(errno));
  struct stat info {};
  check(::fstat(file_.get(), &info) == 0, op, path, ": cannot examine: ", std::strerror(errno));
  check(S_ISREG(info.st_mode), op, path, ": is no regular file");
  bytes_ = info.st_size;
}

void InputFile::read(void* to, Index count) {
  for (auto* next = static_cast<char*>(to); count > 0;) {
    const Index done = ::read(file_.get(), next, static_cast<std::size_t>(count));
    if (done < 0 && errno == EINTR) continue;
    check(done >= 0, op_, path_, ": cannot read at offset ", position_, ": ", std::strerror(errno));
    check(done > 0, op_, path_, ": ends at offset ", position_, ", expected ", count, " bytes more");
    next += done;
    count -= done;
    position_ += done;
  }
}

void InputFile::skip(Index count) {
  check(::lseek(file_.get(), count, SEEK_CUR) >= 0, op_, path_, ": cannot go to offset ", position_ + count,
        ": ", std::strerror(errno));
  position_ += count;
}

// The process number keeps two jobs that save to one path from writing into each other's file.
OutputFile::OutputFile(const char* op, const std::string& path)
    : op_(op),
      path_(path),
      aside_(path + ".tmp" + std::to_string(::getpid())),
      file_(::open(aside_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)) {
  if (!file_.open()) fail("create");
}

OutputFile::~OutputFile() {
  if (!committed_) ::unlink(aside_.c_str());
}

void OutputFile::write(const void* from, Index count) {
  for (const auto* next = static_cast<const char*>(from); count > 0;) {
    const Index done = ::write(file_.get(), next, static_cast<std::size_t>(count));
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) fail("write");
    next += done;
    count -= done;
  }
}

void OutputFile::commit() {
  if (::fsync(file_.get()) != 0 || !file_.close()) fail("write");
  if (std::rename(aside_.c_str(), path_.c_str()) != 0) fail("replace");
  committed_ = true;
  // The new name too is on the disk only after this. Some file systems cannot do it for folders, and the file
  // is whole either way, so its outcome is no error.
  const auto folder = std::filesystem::path(path_).parent_path();
  const Descriptor directory(
      ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (directory.open()) ::fsync(directory.get());
}

void OutputFile::fail(const char* what) const {
  const std::string reason = std::strerror(errno);
  throw std::runtime_error(std::string("[") + op_ + "] " + path_ + ": cannot " + what + ": " + reason);
}

}  // namespace tessera::nn
