#pragma once

#include <sys/types.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tensor/shape.h"

namespace tessera {

/// What a program left.
struct Outcome {
  int status = 0;  ///< of its exit; 128 + signal if one killed it
  std::string out{}, err{};
};

/// A program of build/bin that runs beside the test.
class Child {
 public:
  /// @param ranks under mpirun; 0: without it.
  Child(const std::string& program, std::vector<std::string> arguments, int ranks = 0);
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  /// Reads its output until `text` has come. @return whether it came before the end.
  bool wait_for(const std::string& text);
  void send(int signal) const;
  Outcome finish();

 private:
  pid_t pid_ = -1;
  int out_ = -1, err_ = -1;
  std::string read_;  // of its output so far
};

inline Outcome run(const std::string& program, const std::vector<std::string>& arguments, int ranks = 0) {
  return Child(program, arguments, ranks).finish();
}

/// A folder that goes with the test.
class Folder {
 public:
  Folder();
  ~Folder();
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  std::string path(const std::string& name) const { return path_ + "/" + name; }
  /// Makes a file of it and returns its path.
  std::string file(const std::string& name, const std::string& contents) const;
  std::vector<std::string> names() const;

 private:
  std::string path_;
};

std::string read_text(const std::string& path);
nlohmann::json read_json(const std::string& path);

}  // namespace tessera
