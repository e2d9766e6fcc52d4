#pragma once

#include "dist/comm/comm.h"
#include "dist/trace/clock.h"
#include "dist/trace/split_step.h"

namespace tessera::dist {

/// When the last participant of each operation began, wherever that was; not before this rank did.
///
/// Collective over `world`: the ranks tell each other when their operations began, 40 bytes for each, by an
/// all_gather. Their operations must be over.
/// @param offset what compare_clocks gave on this rank
Arrivals exchange_arrivals(const Comm& world, const std::vector<Operation>& operations,
                           const ClockOffset& offset);

}  // namespace tessera::dist
