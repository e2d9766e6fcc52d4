#pragma once

#include <functional>

#include "dist/comm/buffer.h"
#include "dist/comm/work.h"

namespace tessera::dist {

/// Begins to compare what the ranks of `comm` are about to run, with messages of their own `tag` that count
/// under CommState::checks. Returns what tells whether all have called and agree; it throws
/// std::runtime_error if they do not.
std::function<bool()> begin_agreement(const Comm& comm, const Buffer& buffer, const RunOptions& options,
                                      int tag);

}  // namespace tessera::dist
