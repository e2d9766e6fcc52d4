#pragma once

#include <map>
#include <string>
#include <vector>

#include "dist/comm/grid.h"
#include "nn/parameter.h"

namespace tessera::dist {

/// What one axis of ranks does with a parameter.
enum class Held { replicated, sharded };
/// What backward leaves in a parameter's gradient on one rank of an axis: all of it, or a share still to be
/// summed.
enum class Share { complete, partial };

struct Placement {
  Held held = Held::replicated;
  Share gradient = Share::complete;
  bool operator==(const Placement&) const = default;
};
std::string to_string(const Placement& placement);

/// For each parameter and each atomic axis of more than one rank: what the strategies declared. The one
/// source of which sums a gradient still needs, and of who counts in the global norm.
class PlacementTable {
 public:
  PlacementTable(nn::Parameters parameters, const Grid& grid);

  /// @throws std::logic_error if `axis` is declared for the parameter already, with another placement.
  void declare(const nn::ParameterPtr& parameter, const std::string& axis, Placement placement);
  /// @throws std::logic_error naming the first parameter and axis that nobody declared.
  void check_complete() const;

  /// The axes on which the parameter is held, or held and its gradient left, in this way, outer to inner.
  Grid::Names axes_where(const nn::ParameterPtr& parameter, Held held) const;
  Grid::Names axes_where(const nn::ParameterPtr& parameter, const Placement& placement) const;

  /// "dp: replicated, gradient partial", for each axis of more than one rank.
  std::string describe(const nn::ParameterPtr& parameter) const;

  const nn::Parameters& parameters() const { return parameters_; }

 private:
  using Row = std::map<std::string, Placement>;
  template <class Matches>
  Grid::Names axes(const nn::ParameterPtr& parameter, Matches&& matches) const;

  nn::Parameters parameters_;
  Grid::Names axes_;  // of more than one rank
  std::map<nn::ParameterPtr, Row> rows_;
};

}  // namespace tessera::dist
