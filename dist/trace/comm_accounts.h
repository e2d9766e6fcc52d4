#pragma once

#include "dist/plan/automatic.h"
#include "dist/trace/account.h"
#include "dist/trace/split_step.h"

namespace tessera::dist {

/// Adds `operations` to the accounts of their kind, channel and algorithm, and what the plan predicts for
/// them.
void add_operations(std::vector<CommAccount>& accounts, const std::vector<Operation>& operations,
                    const Arrivals& arrivals, const plan::Network& network);

}  // namespace tessera::dist
