#include "examples/svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace tessera {
namespace {

constexpr const char* kColours[] = {"#3b6fb6", "#d98032", "#4d9a5c", "#b5485d",
                                    "#7d64b0", "#8a6a4f", "#c9a227", "#6b7280"};
constexpr double kWidth = 860, kLeft = 250, kRight = 120, kRow = 24;

const char* colour(std::size_t i) { return kColours[i % std::size(kColours)]; }

std::string label(double x, double y, const std::string& text, const char* anchor = "start") {
  return fmt::format("<text x='{:.1f}' y='{:.1f}' text-anchor='{}'>{}</text>\n", x, y, anchor, escaped(text));
}

std::string rectangle(double x, double y, double width, double height, std::size_t kind,
                      const std::string& hover) {
  return fmt::format(
      "<rect x='{:.2f}' y='{:.1f}' width='{:.2f}' height='{:.1f}' fill='{}'><title>{}</title></rect>\n", x, y,
      std::max(0.0, width), height, colour(kind), escaped(hover));
}

std::string legend_text(const std::vector<std::string>& legend, double y) {
  std::string out;
  double x = 0;
  for (std::size_t i = 0; i < legend.size(); ++i) {
    out += rectangle(x, y - 10, 12, 12, i, legend[i]) + label(x + 17, y, legend[i]);
    x += 40 + 7.5 * static_cast<double>(legend[i].size());
  }
  return out;
}

std::string figure(const std::string& title, double height, const std::string& body) {
  return fmt::format(
      "<figure><figcaption>{}</figcaption>\n<svg viewBox='0 0 {} {:.0f}' role='img'>\n{}</svg></figure>\n",
      escaped(title), kWidth, height, body);
}

}  // namespace

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string bar_chart(const std::string& title, const std::vector<std::string>& legend,
                      const std::vector<Bar>& bars, double mark, const std::string& mark_label) {
  double longest = mark;
  for (const Bar& bar : bars) {
    double sum = 0;
    for (const double part : bar.parts) sum += part;
    longest = std::max(longest, sum);
  }
  if (longest <= 0) return "";
  const double scale = (kWidth - kLeft - kRight) / longest;
  std::string body = legend_text(legend, 14);
  double y = 30;
  for (const Bar& bar : bars) {
    double x = kLeft;
    body += label(kLeft - 8, y + 14, bar.label, "end");
    for (std::size_t i = 0; i < bar.parts.size(); ++i) {
      body += rectangle(x, y, bar.parts[i] * scale, kRow - 6, i,
                        bar.label + ": " + (i < legend.size() ? legend[i] : ""));
      x += bar.parts[i] * scale;
    }
    body += label(x + 6, y + 14, bar.value);
    y += kRow;
  }
  if (mark > 0) {
    const double x = kLeft + mark * scale;
    body += fmt::format(
        "<line x1='{0:.1f}' x2='{0:.1f}' y1='26' y2='{1:.1f}' stroke='#333' stroke-dasharray='4 3'/>\n", x,
        y);
    body += label(x, y + 14, mark_label, "middle");
  }
  return figure(title, y + 20, body);
}

std::string gantt_chart(const std::string& title, const std::vector<std::string>& legend,
                        const std::vector<std::vector<Box>>& rows) {
  double end = 0;
  for (const auto& row : rows)
    for (const Box& box : row) end = std::max(end, box.end);
  if (end <= 0) return "";
  constexpr double kMargin = 60;
  const double scale = (kWidth - kMargin) / end;
  std::string body = legend_text(legend, 14);
  double y = 28;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    body += label(0, y + 14, fmt::format("rank {}", r));
    for (const Box& box : rows[r]) {
      const double x = kMargin + box.begin * scale, width = (box.end - box.begin) * scale;
      body += rectangle(x, y, width - 0.7, kRow - 5, static_cast<std::size_t>(box.kind), box.label);
      if (width > 16) body += label(x + width / 2, y + 14, box.label, "middle");
    }
    y += kRow;
  }
  return figure(title, y + 6, body);
}

std::string curve_chart(const std::string& title, const std::string& x_label, const std::string& y_label,
                        const std::vector<Curve>& curves) {
  double x0 = 1e300, x1 = 0, y0 = 1e300, y1 = 0;
  for (const Curve& curve : curves)
    for (const auto& [x, y] : curve.points)
      if (x > 0 && y > 0)
        x0 = std::min(x0, x), x1 = std::max(x1, x), y0 = std::min(y0, y), y1 = std::max(y1, y);
  if (x1 <= x0 || y1 <= 0) return "";
  constexpr double kHeight = 320, kMargin = 70;
  const auto place = [](double v, double low, double high, double from, double to) {
    return from + (to - from) * (high > low ? std::log(v / low) / std::log(high / low) : 0.5);
  };
  const auto at_x = [&](double x) { return place(x, x0, x1, kMargin, kWidth - 20); };
  const auto at_y = [&](double y) { return place(y, y0, y1, kHeight - 40, 40); };
  std::vector<std::string> legend;
  std::string body;
  for (std::size_t i = 0; i < curves.size(); ++i) {
    std::string points;
    for (const auto& [x, y] : curves[i].points)
      if (x > 0 && y > 0) points += fmt::format("{:.1f},{:.1f} ", at_x(x), at_y(y));
    body +=
        fmt::format("<polyline points='{}' fill='none' stroke='{}' stroke-width='2'/>\n", points, colour(i));
    legend.push_back(curves[i].label);
  }
  for (double x = std::pow(10, std::ceil(std::log10(x0))); x <= x1; x *= 10)
    body += label(at_x(x), kHeight - 22, fmt::format("{:.0e}", x), "middle");
  for (double y = std::pow(10, std::ceil(std::log10(y0))); y <= y1; y *= 10)
    body += label(kMargin - 8, at_y(y) + 4, fmt::format("{:.0e}", y), "end");
  body += label(kWidth / 2, kHeight - 4, x_label, "middle") + label(4, 32, y_label);
  return figure(title, kHeight, legend_text(legend, 14) + body);
}

}  // namespace tessera
