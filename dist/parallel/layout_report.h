#pragma once

#include <string>
#include <vector>

#include "dist/parallel/placement.h"
#include "nn/transformer.h"

namespace tessera::dist {

/// A parameter as this rank holds it, and the type of the module that uses it.
struct HeldParameter {
  std::string module, name;
  Shape global_shape;
  nn::Box used, owned;
  std::string placement;
  bool first_copy = true;  ///< no rank before this one owns the same box
};

/// What became of a model: read it to see that what was asked for happened.
struct LayoutReport {
  std::vector<HeldParameter> parameters;
  Index num_used = 0, num_owned = 0;  ///< elements here
};

/// As `rank` of the grid holds it.
LayoutReport layout_report(const nn::Transformer& model, const PlacementTable& table, const Grid& grid,
                           int rank);

/// A table for people: parameters that differ in their block's number alone share a line.
std::string to_string(const LayoutReport& report);

}  // namespace tessera::dist
