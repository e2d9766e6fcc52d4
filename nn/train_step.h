#pragma once

#include "nn/optimizer.h"
#include "nn/transformer.h"

namespace tessera::nn {

/// What one step computed.
struct StepResult {
  double loss = 0;       ///< mean over the global batch's targets
  double grad_norm = 0;  ///< before clipping
  Index tokens = 0;      ///< targets that counted
};

/// Forward and backward of each microbatch in turn, adding d(sum / count) to the parameters' gradients.
/// @param count targets of the whole step, over all microbatches and ranks: known before the first backward,
/// so that no
///        gradient is scaled later. 0 gives zero gradients.
/// @return the sum of the losses here.
double accumulate_gradients(Transformer& model, const std::vector<Batch>& microbatches, Index count,
                            const Pass& pass);

struct StepOptions {
  Index microbatches = 1;
  double lr = 1e-3;
  double clip = 0;         ///< largest gradient norm; 0: no clipping
  std::uint64_t seed = 0;  ///< of dropout
  Index step = 0;
};

/// One step of one process: gradients, norm, clipping, update.
/// @throws NonFiniteError before anything is updated.
StepResult train_step(Transformer& model, Optimizer& optimizer, const Batch& batch,
                      const StepOptions& options);

/// The loss or the gradient norm of a step is not a finite number. Says which, its value, and the step.
struct NonFiniteError : std::runtime_error {
  using std::runtime_error::runtime_error;
};
void check_finite(const char* what, double value, Index step);

/// Mean loss over batches, as one sum over one count, without gradients or dropout.
double evaluate(Transformer& model, const std::vector<Batch>& batches);

}  // namespace tessera::nn
