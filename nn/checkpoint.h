#pragma once

#include <map>
#include <string>
#include <vector>

#include "nn/optimizer.h"
#include "nn/transformer.h"

// A checkpoint is a set of (global name, global shape, box, data), and what else decides how training goes
// on.
//
//   DIR/checkpoint.json                    configuration, step, settings; names the folder that counts
//   DIR/step-100/model-0.safetensors       the boxes of parameters that process 0 of the run owned
//   DIR/step-100/optimizer-0.safetensors   the same boxes of "first." and "second." moments
//
// A box is a tensor under its global name; the file's metadata "boxes" has its global shape and offset. The
// folder is new for each save and checkpoint.json is replaced when it is complete: a reader, even after a
// crash, finds the checkpoint before or this one.
namespace tessera::nn {

/// A box of a global tensor, and the tensor that holds it or is to hold it.
struct BoxTensor {
  std::string name;       ///< in files
  std::string parameter;  ///< whose it is
  Shape global_shape;
  Box box;
  Tensor data;
};
using BoxTensors = std::vector<BoxTensor>;

/// What a checkpoint is besides tensors.
struct CheckpointInfo {
  ModelConfig config;
  Index step = 0;                                 ///< updates so far: the next batch is that of step `step`
  std::map<std::string, std::string> settings{};  ///< what a run that goes on must have, too
};

/// The owned boxes of parameters, and of an optimizer's state.
BoxTensors owned_boxes(const Parameters& parameters);
BoxTensors state_boxes(const Optimizer& optimizer);

/// A folder for the checkpoint of `step`, new in `directory`, which is made too. Returns its name.
/// @throws std::runtime_error naming the path and the system's reason, as all that write do.
std::string new_checkpoint_folder(const std::string& directory, Index step);
/// What process number `part` has of the model and of the optimizer.
void write_checkpoint_part(const std::string& directory, const std::string& folder, int part,
                           const BoxTensors& model, const BoxTensors& optimizer);
/// When all parts are written: makes `folder` what counts, and removes the folders before it.
void commit_checkpoint(const std::string& directory, const std::string& folder, int parts,
                       const CheckpointInfo& info);

/// A checkpoint to read: hostile until checked.
class Checkpoint {
 public:
  /// @throws std::invalid_argument naming file, place and what was expected, as all that read do.
  explicit Checkpoint(const std::string& directory);
  const CheckpointInfo& info() const { return info_; }

  /// Fills a materialized model from boxes of any cut and dtype: both what it uses, where that has memory,
  /// and what it owns. All or nothing: boxes must tile each parameter, and be of the model's parameters.
  void load(const Parameters& parameters) const;
  /// The same for the state of an optimizer of the same kind; its count of steps becomes the checkpoint's.
  void load(Optimizer& optimizer) const;

 private:
  void fill(const char* kind, const BoxTensors& targets) const;

  std::string directory_, folder_;
  int parts_ = 0;
  CheckpointInfo info_;
};

/// All of the above for a process that trains alone.
void save_checkpoint(const std::string& directory, const CheckpointInfo& info, const Transformer& model,
                     const Optimizer& optimizer);

}  // namespace tessera::nn
