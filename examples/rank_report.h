#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "dist/comm/mesh.h"
#include "examples/history.h"
#include "tensor/memory.h"

namespace tessera {

/// What one rank has to tell at the end of a run.
struct RankReport {
  std::string node;
  StepTimes times;                ///< medians
  std::vector<Index> peak_bytes;  ///< by category
  Index peak_rss_bytes = 0, parameters = 0;
};

/// All ranks' reports, on every rank. Collective.
std::vector<RankReport> gather(const dist::Comm& world, const RankReport& mine);

/// A table of where each rank's step went.
void print_ranks(const std::vector<RankReport>& ranks);
nlohmann::json ranks_json(const std::vector<RankReport>& ranks, const dist::Mesh& mesh);

/// What this rank has sent so far, one entry per operation, axis, purpose and algorithm; see DESIGN.md,
/// section 8.
nlohmann::json comm_json(const dist::Mesh& mesh);
/// Seconds that this rank has spent in collectives so far, waiting included.
double communication_s(const dist::Mesh& mesh);

}  // namespace tessera
