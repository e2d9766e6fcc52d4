#include "dist/parallel/placement.h"

#include <stdexcept>

namespace tessera::dist {

std::string to_string(const Placement& placement) {
  return std::string(placement.held == Held::sharded ? "sharded" : "replicated") +
         (placement.gradient == Share::partial ? ", gradient partial" : ", gradient complete");
}

PlacementTable::PlacementTable(nn::Parameters parameters, const Grid& grid)
    : parameters_(std::move(parameters)) {
  for (const AtomicAxis& axis : grid.axes()) {
    if (axis.size > 1) axes_.push_back(axis.name);
  }
}

void PlacementTable::declare(const nn::ParameterPtr& parameter, const std::string& axis,
                             Placement placement) {
  const auto [entry, inserted] = rows_[parameter].insert({axis, placement});
  if (inserted || entry->second == placement) return;
  throw std::logic_error("[placement] " + parameter->name + " on " + axis + " is declared both " +
                         to_string(entry->second) + " and " + to_string(placement));
}

void PlacementTable::check_complete() const {
  for (const nn::ParameterPtr& parameter : parameters_) {
    const auto row = rows_.find(parameter);
    for (const std::string& axis : axes_) {
      if (row != rows_.end() && row->second.contains(axis)) continue;
      throw std::logic_error("[placement] no strategy declared " + parameter->name + " on the axis " + axis);
    }
  }
}

std::string PlacementTable::describe(const nn::ParameterPtr& parameter) const {
  std::string text;
  for (const std::string& axis : axes_) {
    text += (text.empty() ? "" : "; ") + axis + ": " + to_string(rows_.at(parameter).at(axis));
  }
  return text;
}

template <class Matches>
Grid::Names PlacementTable::axes(const nn::ParameterPtr& parameter, Matches&& matches) const {
  Grid::Names names;
  for (const std::string& axis : axes_) {
    if (matches(rows_.at(parameter).at(axis))) names.push_back(axis);
  }
  return names;
}

Grid::Names PlacementTable::axes_where(const nn::ParameterPtr& parameter, Held held) const {
  return axes(parameter, [&](const Placement& p) { return p.held == held; });
}

Grid::Names PlacementTable::axes_where(const nn::ParameterPtr& parameter, const Placement& placement) const {
  return axes(parameter, [&](const Placement& p) { return p == placement; });
}

}  // namespace tessera::dist
