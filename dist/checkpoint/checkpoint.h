#pragma once

#include <string>

#include "dist/comm/comm.h"
#include "dist/parallel/layout_report.h"
#include "nn/checkpoint.h"

namespace tessera::dist {

/// Saves a model that ranks hold together: each writes the boxes that it owns, those that others own, too, on
/// the first of them alone. Reading needs no ranks: nn::Checkpoint loads any layout from any other.
///
/// Collective; all ranks see one file system. When it returns, the checkpoint counts. A rank that cannot
/// write ends the job, and what was saved before still counts.
/// @param layout of the model, by parallelize()
void save_checkpoint(const std::string& directory, const nn::CheckpointInfo& info,
                     const nn::Transformer& model, const nn::Optimizer& optimizer, const LayoutReport& layout,
                     const Comm& world);

}  // namespace tessera::dist
