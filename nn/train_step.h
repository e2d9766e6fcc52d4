#pragma once

#include <functional>
#include <stdexcept>

#include "nn/optimizer.h"
#include "nn/transformer.h"

namespace tessera::nn {

/// What one step computed.
struct StepResult {
  double loss = 0;       ///< mean over the global batch's targets
  double grad_norm = 0;  ///< before clipping
  Index tokens = 0;      ///< targets that counted
};

/// What backward has left of a parameter's gradient, in the used box; zero where it never came.
Tensor gradient_or_zero(const Parameter& parameter);
/// What backward left here is finished: owned_grad is the owned rows of it.
void own_gradients(const Parameters& parameters);
double own_gradient_norm(const Parameters& parameters);

/// The targets of a whole step, over all processes; waits for them if it must.
using TotalCount = std::function<Index()>;

/// What a step's numbers become where several processes train one model. As it stands: the numbers of one
/// that trains alone. All are called by every process, in the same order.
struct StepExchange {
  /// Starts adding up the targets that count over all processes, from those here. The sum is asked for when
  /// it is needed: before the first backward, so that it travels while the first forward goes on.
  std::function<TotalCount(Index)> total_count = [](Index count) { return [count] { return count; }; };
  /// The sum of losses over all processes.
  std::function<double(double)> total_loss = [](double loss) { return loss; };
  /// Before the forward of each microbatch: whether it is the step's last.
  std::function<void(bool last)> begin_microbatch = [](bool) {};
  /// Finishes the gradients that backward left here and sets each owned_grad.
  std::function<void(const Parameters&)> finish_gradients = own_gradients;
  /// Norm of the gradients of all parameters of the model, once each.
  std::function<double(const Parameters&)> gradient_norm = own_gradient_norm;
  /// After the update of the owned values: brings what other processes have updated.
  std::function<void()> share_update = [] {};
};

/// Forward and backward of each microbatch in turn, adding d(sum / count) to the parameters' gradients.
/// @param count targets of the whole step, over all microbatches and ranks: called before the first backward,
/// so
///        that no gradient is scaled later. 0 gives zero gradients.
/// @return the sum of the losses here.
double accumulate_gradients(Transformer& model, const std::vector<Batch>& microbatches,
                            const TotalCount& count, const Pass& pass, const StepExchange& exchange = {});

struct StepOptions {
  Index microbatches = 1;
  double lr = 1e-3;
  double clip = 0;         ///< largest gradient norm; 0: no clipping
  std::uint64_t seed = 0;  ///< of dropout
  Index step = 0;
};

/// One step on the sequences held here: gradients, norm, clipping, update.
/// @throws NonFiniteError, on all processes alike, before anything is updated.
StepResult train_step(Transformer& model, Optimizer& optimizer, const Batch& batch,
                      const StepOptions& options, const StepExchange& exchange = {});

/// The loss or the gradient norm of a step is not a finite number. Says which, its value, and the step.
struct NonFiniteError : std::runtime_error {
  using std::runtime_error::runtime_error;
};
void check_finite(const char* what, double value, Index step);

/// Mean loss over all processes' batches, as one sum over one count, without gradients or dropout.
double evaluate(Transformer& model, const std::vector<Batch>& batches, const StepExchange& exchange = {});

}  // namespace tessera::nn
