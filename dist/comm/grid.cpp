#include "dist/comm/grid.h"

#include <algorithm>

#include "tensor/check.h"

namespace tessera::dist {

Grid::Grid(std::vector<AtomicAxis> axes) : axes_(std::move(axes)) {
  for (const AtomicAxis& axis : axes_) {
    check(axis.size >= 1, "Grid", "axis ", axis.name, " has size ", axis.size);
    check(std::ranges::count(axes_, axis.name, &AtomicAxis::name) == 1, "Grid", "two axes are called ",
          axis.name);
  }
}

int Grid::num_ranks() const {
  int ranks = 1;
  for (const AtomicAxis& axis : axes_) ranks *= axis.size;
  return ranks;
}

int Grid::size(const Names& names) const {
  check_known(names);
  int size = 1;
  for (const AtomicAxis& axis : axes_)
    if (in(axis, names)) size *= axis.size;
  return size;
}

Grid::Names Grid::ordered(const Names& names) const {
  check_known(names);
  Names result;
  for (const AtomicAxis& axis : axes_)
    if (in(axis, names)) result.push_back(axis.name);
  return result;
}

int Grid::coordinate(int rank, const Names& names) const {
  check_known(names);
  int coordinate = 0, inner_ranks = num_ranks();
  for (const AtomicAxis& axis : axes_) {
    inner_ranks /= axis.size;
    if (in(axis, names)) coordinate = coordinate * axis.size + rank / inner_ranks % axis.size;
  }
  return coordinate;
}

std::vector<int> Grid::group(int rank, const Names& names) const {
  Names others;
  for (const AtomicAxis& axis : axes_)
    if (!in(axis, names)) others.push_back(axis.name);
  const int place = coordinate(rank, others);
  std::vector<int> members;
  for (int r = 0; r < num_ranks(); ++r)
    if (coordinate(r, others) == place) members.push_back(r);
  return members;  // ordered, since rank numbers grow with coordinates
}

bool Grid::in(const AtomicAxis& axis, const Names& names) const {
  return std::ranges::find(names, axis.name) != names.end();
}

void Grid::check_known(const Names& names) const {
  for (const std::string& name : names)
    check(std::ranges::count(axes_, name, &AtomicAxis::name) == 1, "Grid", "there is no axis ", name);
}

}  // namespace tessera::dist
