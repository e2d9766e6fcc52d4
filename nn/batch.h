#pragma once

#include <vector>

#include "tensor/tensor.h"

namespace tessera::nn {

inline constexpr std::int32_t kIgnore = -1;  ///< a target that adds nothing to the loss

/// The rows of a global batch that are held here. Numbers are global, so random draws do not depend on who
/// holds a row.
struct Batch {
  Tensor tokens;            ///< i32 [B, T]
  Tensor targets;           ///< i32 [B, T]; kIgnore where there is none
  Tensor sequences;         ///< i32 [B], each sequence's number in the global batch
  Tensor positions;         ///< i32 [T], the same for all sequences
  Index num_positions = 0;  ///< T of the whole sequence

  Index num_sequences() const { return sequences.numel(); }
  /// Targets that count.
  Index num_targets() const;
};

/// A batch of whole sequences 0, 1, ..., from tokens and targets of B * T each.
Batch make_batch(const std::vector<std::int32_t>& tokens, const std::vector<std::int32_t>& targets,
                 Index num_positions);

/// Sequences [begin, end) of the batch, sharing memory.
Batch slice(const Batch& batch, Index begin, Index end);
/// `count` microbatches whose sizes differ by at most one sequence; some are empty if there are fewer
/// sequences.
std::vector<Batch> split(const Batch& batch, Index count);

}  // namespace tessera::nn
