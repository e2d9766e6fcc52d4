#include "dist/comm/rank_table.h"

#include <algorithm>
#include <iomanip>
#include <map>
#include <sstream>

namespace tessera::dist {
namespace {

// How much is shown: of the table, of a list of groups, of a group.
constexpr int kRows = 16;
constexpr std::size_t kGroups = 8, kRanks = 16;

std::string label(const std::string& axis, int coordinate) { return axis + ' ' + std::to_string(coordinate); }

std::string padded(const std::string& text, std::size_t width) {
  return std::string(width - std::min(width, text.size()), ' ') + text;
}

std::string joined(const std::vector<int>& ranks) {
  std::string text;
  for (std::size_t i = 0; i < std::min(ranks.size(), kRanks); ++i) text += ' ' + std::to_string(ranks[i]);
  return ranks.size() > kRanks ? text + " ..." : text;
}

// The first groups of `num_groups`.
std::string line(const std::string& name, const std::vector<std::vector<int>>& groups,
                 std::size_t num_groups) {
  std::ostringstream text;
  text << std::left << std::setw(10) << name;
  for (std::size_t i = 0; i < groups.size(); ++i) text << (i > 0 ? " |" : "") << joined(groups[i]);
  if (num_groups > groups.size()) text << " | ... " << num_groups << " groups";
  text << '\n';
  return text.str();
}

// Rows: all axes but the last; columns: the last one.
std::string table(const Grid& grid, const Grid::Names& axes) {
  const int columns = grid.size({axes.back()}), all_rows = grid.num_ranks() / columns;
  const int rows = std::min(all_rows, kRows);
  const std::size_t width = label(axes.back(), columns - 1).size() + 2;
  std::vector<std::string> lines(static_cast<std::size_t>(rows) + 1);
  for (std::size_t i = 0; i + 1 < axes.size(); ++i) {
    const std::size_t label_width = label(axes[i], grid.size({axes[i]}) - 1).size() + 2;
    lines[0] += std::string(label_width, ' ');
    for (int row = 0; row < rows; ++row) {
      std::string text = label(axes[i], grid.coordinate(row * columns, {axes[i]}));
      lines[row + 1] += text + std::string(label_width - text.size(), ' ');
    }
  }
  for (int column = 0; column < columns; ++column) {
    lines[0] += padded(label(axes.back(), column), width);
    for (int row = 0; row < rows; ++row)
      lines[row + 1] += padded(std::to_string(row * columns + column), width);
  }
  std::string text;
  for (const std::string& row : lines) text += row + '\n';
  return all_rows > rows ? text + "... " + std::to_string(all_rows) + " rows\n" : text;
}

std::string groups_along(const Grid& grid, const std::string& name, const Grid::Names& axes) {
  std::vector<std::vector<int>> groups;
  for (int rank = 0; rank < grid.num_ranks() && groups.size() < kGroups; ++rank)
    if (grid.coordinate(rank, axes) == 0) groups.push_back(grid.group(rank, axes));
  return line(name, groups, static_cast<std::size_t>(grid.num_ranks() / grid.size(axes)));
}

std::string nodes_line(const std::vector<int>& nodes) {
  std::map<int, std::vector<int>> by_node;
  for (std::size_t rank = 0; rank < nodes.size(); ++rank)
    by_node[nodes[rank]].push_back(static_cast<int>(rank));
  if (by_node.size() < 2) return "";
  std::vector<std::vector<int>> groups;
  for (const auto& [node, ranks] : by_node)
    if (groups.size() < kGroups) groups.push_back(ranks);
  return line("node", groups, by_node.size());
}

}  // namespace

std::string rank_table(const Degrees& degrees, const std::vector<int>& nodes) {
  const Axes axes = factor(degrees);
  const Grid grid(axes.atomic);
  Grid::Names shown;
  for (const AtomicAxis& axis : grid.axes())
    if (axis.size > 1) shown.push_back(axis.name);
  if (shown.empty()) shown.push_back("dp");

  std::string text = table(grid, shown);
  for (const std::string& name : told_axes(degrees)) {
    const Grid::Names& atomic = axes.named.at(name);
    if (grid.size(atomic) > 1) text += groups_along(grid, name, atomic);
  }
  return text + nodes_line(nodes);
}

}  // namespace tessera::dist
