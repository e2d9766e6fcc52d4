#pragma once

#include <memory>
#include <string>
#include <vector>

#include "dist/comm/comm.h"
#include "dist/comm/degrees.h"

namespace tessera::dist {

class Mesh;

/// A named axis, as this rank sees it: a value handle.
class Axis {
 public:
  const std::string& name() const { return name_; }
  int size() const;
  /// This rank's coordinate.
  int rank() const;
  /// What it is made of, outer to inner; see Axes. None: an axis of one rank.
  const Grid::Names& atomic_axes() const { return atomic_axes_; }
  /// The communicator of the ranks along this axis for `purpose`. Made by its first use, which is collective
  /// over the whole mesh.
  Comm comm(const std::string& purpose) const;

 private:
  friend Mesh;
  struct State;
  Axis(std::shared_ptr<State> mesh, std::string name, Grid::Names atomic_axes)
      : mesh_(std::move(mesh)), name_(std::move(name)), atomic_axes_(std::move(atomic_axes)) {}

  std::shared_ptr<State> mesh_;
  std::string name_;
  Grid::Names atomic_axes_;
};

/// Where a rank is along a named axis.
struct Coordinate {
  std::string axis;
  int value;
  bool operator==(const Coordinate&) const = default;
};

/// The ranks of `world` on a grid, outer to inner pp, dp, cp, tp: ranks that differ in tp alone are
/// neighbours.
class Mesh {
 public:
  /// @throws std::invalid_argument as complete() does.
  Mesh(const Comm& world, const Degrees& degrees);

  const Comm& world() const;
  const Grid& grid() const;
  const Degrees& degrees() const { return degrees_; }
  /// A named axis: "pp", "dp", "replicate", "shard", "cp", "tp", "ep" or "edp" (see factor), or an atomic
  /// one.
  /// @throws std::invalid_argument for another name.
  Axis axis(const std::string& name) const;
  /// Several at once, as one axis: product({"dp", "cp"}) is where dense gradients are summed.
  Axis product(const Grid::Names& names) const;
  /// Where `rank` of the world is along told_axes().
  std::vector<Coordinate> coords(int rank) const;
  /// All communicators made so far, for reports.
  const std::vector<Comm>& comms() const;

 private:
  Degrees degrees_;
  std::shared_ptr<Axis::State> state_;
};

}  // namespace tessera::dist
