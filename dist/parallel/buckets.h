#pragma once

#include <vector>

#include "nn/transformer.h"

namespace tessera::dist {

/// Parameters whose gradients are sent together, in the order in which they are sent: on all ranks the same
/// one, whatever order backward finishes them in.
using Buckets = std::vector<nn::Parameters>;

/// The model's parameters from its end to its beginning, as backward finishes them, cut into buckets of at
/// most `bytes`, but never less than a parameter. Large buckets have less latency, small ones start earlier
/// and leave less to send when backward is over. Li et al. 2020, arXiv:2006.15704, 3.2.3.
Buckets fill_buckets(const nn::Transformer& model, Index bytes, DType dtype);

/// A bucket for each block, from the last to the first; then one for the ends: everything outside the blocks.
Buckets block_buckets(const nn::Transformer& model);

}  // namespace tessera::dist
