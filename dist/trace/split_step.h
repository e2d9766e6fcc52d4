#pragma once

#include <span>
#include <vector>

#include "dist/trace/account.h"
#include "dist/trace/events.h"

namespace tessera::dist {

/// When the last participant of each of `operations` began, on this rank's clock.
using Arrivals = std::vector<double>;

/// Parts of one step, from its spans, its own last, and from what was under way on the rank.
///
/// Time belongs to the innermost span. A wait is for a slower peer until the operation's last participant has
/// begun, and exposed communication from then on. Hidden is the time in which an operation was under way
/// with all its participants while the thread was neither in a wait nor starting or polling.
StepParts split_step(std::span<const Span> spans, const std::vector<Operation>& operations,
                     const Arrivals& arrivals);

/// All steps among `spans`, which may hold more than steps. Times of begin are on this rank's clock.
std::vector<StepAccount> split_steps(const std::vector<Span>& spans, const std::vector<Operation>& operations,
                                     const Arrivals& arrivals);

}  // namespace tessera::dist
