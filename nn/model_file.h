#pragma once

#include <string>

#include "nn/transformer.h"

namespace tessera::nn {

/// Saves a model of one process to `directory`/model.safetensors: parameters by their global names, the
/// configuration and the step as metadata. Makes the directory. @throws std::runtime_error
void save_model(const std::string& directory, const Transformer& model, Index step);

/// The configuration saved with a model. @throws std::invalid_argument
ModelConfig load_config(const std::string& directory);

/// Fills a materialized model from a file of any dtype; every parameter's box is cut from the saved tensor.
/// @throws std::invalid_argument naming the first parameter that is missing or has another shape, and tensors
/// the model lacks.
void load_model(const std::string& directory, const Transformer& model);

}  // namespace tessera::nn
