#pragma once

#include <string>
#include <vector>

#include "dist/comm/mesh.h"
#include "dist/trace/accountant.h"
#include "dist/trace/memory_formula.h"
#include "nn/transformer.h"

namespace tessera {

/// What this rank has to tell at the end of a run. Fills in `shape`'s elements from the model.
dist::RankAccount rank_account(const dist::Accountant& accounts, const dist::Mesh& mesh,
                               const nn::Transformer& model, dist::TrainingShape shape);

/// Writes what is for timeline viewers.
/// @param timeline each rank's events
void write_timeline(const std::string& path, const std::vector<std::string>& timeline,
                    const std::vector<dist::RankAccount>& ranks);

}  // namespace tessera
