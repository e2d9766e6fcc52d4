#pragma once

#include <string>

#include "dist/plan/flops.h"
#include "dist/plan/models.h"
#include "dist/plan/request.h"

namespace tessera::plan {

/// How a model is spread over devices and a batch over time.
struct Layout {
  double dp = 1, tp = 1, pp = 1, cp = 1, ep = 1;
  double zero = 0;  ///< 0 to 3: optimizer state, gradients, parameters sharded over dp x cp
  bool sequence_parallel = false;
  double microbatches = 1;
  std::string schedule = "1f1b";
  double virtual_stages = 1;
  Recompute recompute = Recompute::none;

  double devices() const { return dp * tp * pp * cp; }
};

/// "dp=2 tp=4 pp=1 zero=1": what is not one, none or false.
std::string to_string(const Layout& layout);

/// Reads the fields of those names from a query.
Layout layout_from(Request& request);

/// Why the model cannot be laid out so; empty if it can. Heads, experts and layers must divide.
std::string impossible(const Layout& layout, const Model& model);

}  // namespace tessera::plan
