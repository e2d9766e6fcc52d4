#pragma once

#include "dist/comm/mesh.h"
#include "dist/parallel/placement.h"
#include "nn/batch.h"
#include "nn/data.h"

namespace tessera::dist {

/// Data parallelism: every rank of `replicate` holds the whole model and some sequences of each batch. After
/// backward a gradient is this rank's share of a sum over all sequences: nothing is scaled, since 1 /
/// (targets of the whole batch) has seeded it. The finaliser sums it in buckets while backward goes on.
///
/// Sent per step and rank, by ring, n ranks: 2 (n-1)/n of the gradients' bytes. Li et al. 2020,
/// arXiv:2006.15704.
void data_parallel(PlacementTable& table, const Axis& replicate);

/// The sequences of step `step`'s global batch that this rank of `dp` takes: as even a deal as there is, in
/// order; none if there are fewer sequences than ranks.
nn::Batch data_share(const nn::Dataset& data, const Axis& dp, std::uint64_t seed, Index step,
                     Index batch_size);
/// This rank's share of batches that all ranks know, for validation: every n-th one. As many on each rank,
/// since a forward pass may communicate; the last may have no sequence.
std::vector<nn::Batch> data_share(const std::vector<nn::Batch>& batches, const Axis& dp);

}  // namespace tessera::dist
