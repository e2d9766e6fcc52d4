#pragma once

#include <string>
#include <vector>

#include "dist/comm/degrees.h"
#include "nn/block.h"

namespace tessera {

/// How a model and its batch are cut over ranks, and what else changes how a step runs but not its result.
struct Layout {
  dist::Degrees degrees{};
  int zero = 0;
  nn::Recompute recompute = nn::Recompute::none;
  Index microbatches = 1;
};

/// From "dp=2 zero=1 microbatches=3": keys dp, zero, shard, recompute, microbatches, each once at most.
/// @throws std::invalid_argument for any other key, or a value that cannot be.
Layout parse_layout(const std::string& text);
/// The same form, without what is as it would be anyway.
std::string to_string(const Layout& layout);

/// Every layout of `ranks` ranks: each ZeRO level with each shard size; and for each of them all kinds of
/// recomputation and several numbers of microbatches, though not their product.
std::vector<Layout> all_layouts(int ranks);

}  // namespace tessera
