#include "examples/loss_plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace tessera {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

/// The updates of a run, from the first one's begin to the last one's end; one that was resumed has done some
/// before.
struct Span {
  Index first, count;

  explicit Span(const History& history)
      : first(history.steps.front().step), count(static_cast<Index>(history.steps.size())) {}
  Index end() const { return first + count; }
  /// Where `step`, from first to end, lands among the columns.
  int column_of(Index step, int columns) const {
    const double share = static_cast<double>(step - first) / static_cast<double>(count);
    return static_cast<int>(share * (columns - 1) + 0.5);
  }
};

std::vector<double> column_means(const History& history, int columns) {
  std::vector<double> sums(static_cast<std::size_t>(columns)), counts(sums.size());
  const Span span(history);
  for (const StepRecord& record : history.steps) {
    const auto column = static_cast<std::size_t>(span.column_of(record.step, columns));
    sums[column] += record.loss;
    ++counts[column];
  }
  for (std::size_t i = 0; i < sums.size(); ++i) sums[i] = counts[i] > 0 ? sums[i] / counts[i] : kNone;
  return sums;
}

/// Lines of characters with the loss as height.
class Canvas {
 public:
  Canvas(double low, double high, int columns, int rows)
      : low_(low),
        high_(high),
        lines_(static_cast<std::size_t>(rows), std::string(static_cast<std::size_t>(columns), ' ')) {}

  void mark(int column, double loss, char mark) {
    const double height = high_ > low_ ? (high_ - loss) / (high_ - low_) : 0;
    const auto row = static_cast<std::size_t>(height * static_cast<double>(lines_.size() - 1) + 0.5);
    lines_[row][static_cast<std::size_t>(column)] = mark;
  }

  std::string text() const {
    std::string result;
    for (std::size_t row = 0; row < lines_.size(); ++row) {
      const double loss =
          high_ - (high_ - low_) * static_cast<double>(row) / static_cast<double>(lines_.size() - 1);
      result += fmt::format("{:8.3f} |{}\n", loss, lines_[row]);
    }
    return result;
  }

 private:
  double low_, high_;
  std::vector<std::string> lines_;
};

}  // namespace

std::string plot_loss(const History& history, int columns, int rows) {
  if (history.steps.size() < 2) return "";
  const std::vector<double> training = column_means(history, columns);
  double low = history.steps.front().loss, high = low;
  const auto include = [&](double loss) {
    low = std::fmin(low, loss);  // fmin and fmax skip kNone
    high = std::fmax(high, loss);
  };
  std::ranges::for_each(training, include);
  for (const ValidationRecord& record : history.validation) include(record.loss);

  Canvas canvas(low, high, columns, rows);
  for (int i = 0; i < columns; ++i) {
    const double loss = training[static_cast<std::size_t>(i)];
    if (!std::isnan(loss)) canvas.mark(i, loss, '.');
  }
  const Span span(history);
  for (const ValidationRecord& record : history.validation) {
    canvas.mark(span.column_of(record.step, columns), record.loss, 'o');
  }
  return canvas.text() + fmt::format("{:>10}{:-<{}}\n{:>11}{:>{}} updates   (. training, o validation)\n",
                                     "+", "", columns, span.first, span.end(), columns - 1);
}

}  // namespace tessera
