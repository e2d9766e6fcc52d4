#pragma once

#include <string>
#include <vector>

#include "dist/trace/account.h"

/// Tables for people, each with a line that says what its numbers are.
namespace tessera::dist {

/// "56.1 ms: compute 91.0 %, exposed communication 2.1 %, ...": the parts that there are.
std::string parts_text(const StepParts& parts);
/// One line per rank: where its mean step went, in ms.
std::string step_table(const std::vector<RankAccount>& ranks);
/// One line per operation, axis and algorithm: what it took, and what the plan predicted. Empty if there was
/// none.
std::string comm_table(const std::vector<CommAccount>& accounts);
/// One line per category in use: current and peak bytes of a rank, and the plan's formula.
std::string memory_table(const RankAccount& rank);

}  // namespace tessera::dist
