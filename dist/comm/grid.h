#pragma once

#include <string>
#include <vector>

namespace tessera::dist {

/// An axis of the grid that is not split further.
struct AtomicAxis {
  std::string name;
  int size = 1;
};

/// Ranks on a grid of atomic axes, listed from outer to inner: rank numbers count along the last one first. A
/// named axis is a product of atomic ones, given by their names; its coordinates count along its innermost
/// one first, too.
class Grid {
 public:
  using Names = std::vector<std::string>;

  /// @throws std::invalid_argument for a size below 1, or a name twice.
  explicit Grid(std::vector<AtomicAxis> axes);

  const std::vector<AtomicAxis>& axes() const { return axes_; }
  int num_ranks() const;
  /// Product of the sizes of the axes `names`.
  int size(const Names& names) const;
  /// `names` from outer to inner, each once. @throws std::invalid_argument for an unknown axis.
  Names ordered(const Names& names) const;
  /// Where `rank` is along that product. @throws std::invalid_argument for an unknown axis.
  int coordinate(int rank, const Names& names) const;
  /// The ranks that differ from `rank` along `names` at most, in order of coordinate.
  std::vector<int> group(int rank, const Names& names) const;

 private:
  bool in(const AtomicAxis& axis, const Names& names) const;
  void check_known(const Names& names) const;

  std::vector<AtomicAxis> axes_;
};

}  // namespace tessera::dist
