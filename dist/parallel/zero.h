#pragma once

#include "dist/comm/collectives.h"
#include "dist/comm/mesh.h"
#include "dist/parallel/placement.h"

namespace tessera::dist {

/// How much of a model data-parallel ranks share out instead of holding it each: 0 nothing, 1 the optimizer's
/// state, 2 gradients, too, 3 parameters, too (fully_sharded.h).
constexpr int kZeroLevels = 4;

/// ZeRO: every rank of `shard` owns a share of each parameter's rows and updates those alone; gradients are
/// reduce-scattered to the owners. Uneven shares are ordinary, and so are empty ones. Rajbhandari et al.
/// 2020, arXiv:1910.02054.
///
/// Held per rank, n ranks, P bytes of parameters, one microbatch at least, AdamW:
///   level 1: parameters P, gradients P, optimizer 2P/n
///   level 2: parameters P, gradients P/n and a few buckets of whole ones, optimizer 2P/n
///   level 3: parameters P/n and two blocks of whole ones, gradients P/n and two blocks, optimizer 2P/n
void zero(PlacementTable& table, const Axis& shard, int level);

/// What a rank does after its update at levels 1 and 2: brings all rows of `parameters`, each from its owner.
///
/// Collective over `shard`, blocking; one all_gather, in place: (n-1)/n of the parameters' bytes sent per
/// rank by ring. Copies: bit-identical on all ranks.
void gather_values(const nn::Parameters& parameters, const Comm& shard, const CollectiveOptions& options);

}  // namespace tessera::dist
