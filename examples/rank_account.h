#pragma once

#include <string>
#include <vector>

#include "dist/comm/mesh.h"
#include "dist/plan/ledger.h"
#include "dist/trace/accountant.h"
#include "nn/transformer.h"

namespace tessera {

/// What this rank has to tell at the end of a run.
dist::RankAccount rank_account(const dist::Accountant& accounts, const dist::Mesh& mesh,
                               const nn::Transformer& model, const plan::LedgerBytes& predicted);

/// Writes what is for timeline viewers.
/// @param timeline each rank's events
void write_timeline(const std::string& path, const std::vector<std::string>& timeline,
                    const std::vector<dist::RankAccount>& ranks);

}  // namespace tessera
