#include "examples/lessons/lesson.h"

#include <algorithm>

#include "dist/comm/collectives.h"
#include "examples/program.h"
#include "tensor/context.h"

namespace tessera {

void Lesson::table(const std::vector<std::string>& head, const std::vector<double>& mine) const {
  std::vector<double> all(mine.size() * static_cast<std::size_t>(world_.size()));
  std::ranges::copy(mine, all.begin() + std::ssize(mine) * world_.rank());
  dist::all_gather(world_, all);
  std::string text = "  rank";
  for (const std::string& column : head)
    text += fmt::format("  {:>{}}", column, std::max<std::size_t>(10, column.size()));
  say("{}\n", text);
  for (int rank = 0; rank < world_.size(); ++rank) {
    text = fmt::format("  {:4}", rank);
    for (std::size_t i = 0; i < mine.size(); ++i)
      text += fmt::format("  {:>{}g}", all[static_cast<std::size_t>(rank) * mine.size() + i],
                          std::max<std::size_t>(10, head[i].size()));
    say("{}\n", text);
  }
}

void Lesson::claim(const std::string& text, bool holds) {
  const bool everywhere = dist::max(world_, holds ? 0 : 1) == 0;
  failed_ = failed_ || !everywhere;
  say("{}: {}\n", everywhere ? "holds" : "FAILS", text);
}

int run_lesson(int argc, char** argv, const char* name, const char* idea,
               const std::function<void(Lesson&)>& body) {
  return run_on_ranks(
      argc, argv, {name, idea}, [](CLI::App&) {},
      [&](dist::Comm& world) {
        context().threads = 1;
        Lesson lesson(world);
        body(lesson);
        return lesson.status();
      });
}

}  // namespace tessera
