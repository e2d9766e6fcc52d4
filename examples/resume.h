#pragma once

#include "examples/cli.h"
#include "nn/checkpoint.h"
#include "nn/data.h"

namespace tessera {

/// What a checkpoint of this run tells the run that goes on.
nn::CheckpointInfo checkpoint_info(const TrainOptions& options, const nn::ModelConfig& config,
                                   const nn::Dataset& data, Index step);

/// The checkpoint to go on from. @throws std::invalid_argument unless it is of such a run - the same model,
/// data, batches, number type and optimizer - that has not done all its steps.
nn::Checkpoint open_checkpoint(const TrainOptions& options, const nn::ModelConfig& config,
                               const nn::Dataset& data);

}  // namespace tessera
