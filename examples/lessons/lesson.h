#pragma once

#include <fmt/format.h>

#include <functional>
#include <string>
#include <vector>

#include "dist/comm/comm.h"

namespace tessera {

/// What lessons have in common: one rank speaks, numbers of all ranks come in a table, claims are checked.
class Lesson {
 public:
  explicit Lesson(const dist::Comm& world) : world_(world) {}

  const dist::Comm& world() const { return world_; }
  template <class... Parts>
  void say(fmt::format_string<Parts...> text, Parts&&... parts) const {
    if (world_.rank() == 0) fmt::print(text, std::forward<Parts>(parts)...);
  }
  /// One row per rank, under `head`. Collective.
  void table(const std::vector<std::string>& head, const std::vector<double>& mine) const;
  /// Prints the claim and whether it holds, which it must on every rank. Collective.
  void claim(const std::string& text, bool holds);
  /// 1 if a claim did not hold.
  int status() const { return failed_ ? 1 : 0; }

 private:
  dist::Comm world_;
  bool failed_ = false;
};

/// The main function of a lesson.
int run_lesson(int argc, char** argv, const char* name, const char* idea,
               const std::function<void(Lesson&)>& body);

}  // namespace tessera
