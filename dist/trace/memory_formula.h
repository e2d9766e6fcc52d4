#pragma once

#include <array>

#include "nn/block.h"
#include "nn/config.h"
#include "tensor/dtype.h"
#include "tensor/memory.h"

namespace tessera::dist {

/// What decides how many bytes of tensors a rank holds at most.
struct TrainingShape {
  DType dtype = DType::f32;
  int zero = 0;               ///< level
  Index used = 0, owned = 0;  ///< elements of parameters here
  Index block = 0, ends = 0;  ///< elements of one block, and outside of blocks
  Index bucket = 0;           ///< elements of gradients that travel together; 0: none travel
  int optimizer_states = 0;   ///< numbers per owned parameter
  Index tokens = 0;           ///< of the largest microbatch here
  nn::Recompute recompute = nn::Recompute::none;
};

/// Bytes of each category at their peak; < 0 where no formula says it.
///
///  - parameter: used; ZeRO 3: owned, the ends and two blocks
///  - gradient: used; ZeRO 2: owned, a bucket that fills and one that travels; ZeRO 3: owned, the ends,
///    two blocks
///  - optimizer: states x owned
///  - communication: what has come and waits to be added, at most two buckets; ZeRO 2: one
///  - activation: what forward saves for backward, as backward begins; see saved_per_token
std::array<double, kNumCategories> memory_formula(const nn::ModelConfig& config, const TrainingShape& shape);

/// Numbers that a block saves of one token: without recompute 4 dim (both norms, the sum between the
/// branches, its output), 2 q widths (q, what attention returns), 2 of keys and values, 2 ffn_dim (3 for
/// SwiGLU), a log-sum-exp per head, and what the norms remember of a row. selective saves neither norms nor
/// the activation; full the output alone.
double saved_per_token(const nn::ModelConfig& config, nn::Recompute recompute);

}  // namespace tessera::dist
