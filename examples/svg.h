#pragma once

#include <string>
#include <utility>
#include <vector>

namespace tessera {

/// Text for HTML and SVG, whatever it holds.
std::string escaped(const std::string& text);

/// A bar of segments, one after the other, each a part by the legend's order.
struct Bar {
  std::string label, value;  ///< beside it, and at its end
  std::vector<double> parts;
};

/// Horizontal bars with a legend; a vertical line at `mark` if that is above 0. All SVG, no script, no font
/// of its own.
std::string bar_chart(const std::string& title, const std::vector<std::string>& legend,
                      const std::vector<Bar>& bars, double mark = 0, const std::string& mark_label = "");

struct Box {
  double begin, end;
  int kind;  ///< into the legend
  std::string label;
};

/// Rows of boxes along time.
std::string gantt_chart(const std::string& title, const std::vector<std::string>& legend,
                        const std::vector<std::vector<Box>>& rows);

struct Curve {
  std::string label;
  std::vector<std::pair<double, double>> points;
};

/// Curves over two logarithmic axes; points that are not above 0 are left out.
std::string curve_chart(const std::string& title, const std::string& x_label, const std::string& y_label,
                        const std::vector<Curve>& curves);

}  // namespace tessera
