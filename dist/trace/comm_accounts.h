#pragma once

#include "dist/trace/account.h"
#include "dist/trace/split_step.h"

namespace tessera::dist {

/// Adds `operations` to the accounts of their kind, channel and algorithm.
void add_operations(std::vector<CommAccount>& accounts, const std::vector<Operation>& operations,
                    const Arrivals& arrivals);

}  // namespace tessera::dist
