#pragma once

#include <string>
#include <vector>

#include "dist/comm/degrees.h"

namespace tessera::dist {

/// Which rank sits where, for people: the ranks as a table with the innermost axis to the right, then for
/// each axis of more than one rank its groups, one group of ranks after the other.
///
///                 tp 0  tp 1
///     pp 0  dp 0     0     1
///     pp 0  dp 1     2     3
///     ...
///     dp     0 2 | 1 3 | 4 6 | 5 7
///
/// Long tables and lists are cut, and say so.
/// @param degrees complete   @param nodes of each rank (Comm::nodes); a line of their own if there are
/// several
std::string rank_table(const Degrees& degrees, const std::vector<int>& nodes);

}  // namespace tessera::dist
