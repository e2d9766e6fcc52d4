#include "examples/progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>

#include "examples/text.h"

namespace tessera {
namespace {

constexpr double kRewrite_s = 0.1;  // faster is not seen, but slows terminals
constexpr double kLine_s = 10;
const char* const kClearLine = "\r\033[K";

/// A line that wraps could not be rewritten.
std::string cut_to_terminal(const std::string& text) {
  winsize size{};
  const bool known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? text.substr(0, size.ws_col - 1u) : text;
}

}  // namespace

Progress::Progress(Index done, Index steps, bool shown)
    : first_(done), steps_(steps), shown_(shown), terminal_(isatty(STDOUT_FILENO) != 0) {}

void Progress::step(const StepRecord& record) {
  tokens_ += record.tokens;
  step_s_ += record.step_s;
  if (!shown_ || !due(record.step + 1)) return;
  printed_step_ = record.step + 1;
  printed_s_ = watch_.seconds();
  if (!terminal_ || printed_step_ == steps_) return line(text(record));
  fmt::print("{}{}", kClearLine, cut_to_terminal(text(record)));
  std::fflush(stdout);
}

void Progress::line(const std::string& text) {
  if (!shown_) return;
  fmt::print("{}{}\n", terminal_ ? kClearLine : "", text);
  std::fflush(stdout);
}

bool Progress::due(Index done) const {
  const double since_s = watch_.seconds() - printed_s_;
  if (done == first_ + 1 || done == steps_) return true;
  return terminal_ ? since_s >= kRewrite_s : since_s >= kLine_s || (done - printed_step_) * 20 >= steps_;
}

std::string Progress::text(const StepRecord& record) const {
  const Index done = record.step + 1;
  const double left_s =
      watch_.seconds() / static_cast<double>(done - first_) * static_cast<double>(steps_ - done);
  return fmt::format("step {:>{}}/{}  loss {:.4f}  norm {:.2f}  lr {:.2e}  {} tokens/s  {} left", done,
                     std::to_string(steps_).size(), steps_, record.loss, record.grad_norm, record.lr,
                     grouped(static_cast<Index>(static_cast<double>(tokens_) / step_s_)),
                     duration_text(left_s));
}

}  // namespace tessera
