#include "nn/train_step.h"

#include <cmath>
#include <stdexcept>

#include "tensor/autograd.h"

namespace tessera::nn {
namespace {

/// In one process a gradient is finished when backward is: the owned rows are what is there, or zero.
void finish_gradients(const Parameters& parameters) {
  for (const ParameterPtr& p : parameters) {
    const Tensor& value = p->value;
    const Tensor grad = value.grad();
    p->owned_grad = p->owned_rows(
        grad.defined() ? grad : Tensor::zeros(value.shape(), value.dtype(), Category::gradient));
  }
}

}  // namespace

double accumulate_gradients(Transformer& model, const std::vector<Batch>& microbatches, Index count,
                            const Pass& pass) {
  const std::vector<Tensor> leaves = values(model.parameters());
  double total = 0;
  for (const Batch& batch : microbatches) {
    const LossSum loss = model.loss({batch, pass.seed, pass.step, pass.training});
    total += loss.sum.item();
    backward(loss.sum, count > 0 ? 1 / static_cast<double>(count) : 0, leaves);
  }
  return total;
}

StepResult train_step(Transformer& model, Optimizer& optimizer, const Batch& batch,
                      const StepOptions& options) {
  const Parameters parameters = model.parameters();
  const Index count = batch.num_targets();
  zero_grad(parameters);
  const Pass pass = {batch, options.seed, options.step, true};
  const double sum = accumulate_gradients(model, split(batch, options.microbatches), count, pass);
  finish_gradients(parameters);

  StepResult result = {count > 0 ? sum / static_cast<double>(count) : 0,
                       std::sqrt(squared_grad_norm(parameters)), count};
  check_finite("loss", result.loss, options.step);
  check_finite("gradient norm", result.grad_norm, options.step);
  optimizer.step(options.lr, clip_scale(result.grad_norm, options.clip));
  return result;
}

void check_finite(const char* what, double value, Index step) {
  if (std::isfinite(value)) return;
  throw NonFiniteError("the " + std::string(what) + " of step " + std::to_string(step) + " is " +
                       std::to_string(value) +
                       ", expected a finite number; a smaller --lr or a --clip may help");
}

double evaluate(Transformer& model, const std::vector<Batch>& batches) {
  const NoGrad no_grad;
  double sum = 0;
  Index count = 0;
  for (const Batch& batch : batches) {
    const LossSum loss = model.loss({batch});
    sum += loss.sum.item();
    count += loss.count;
  }
  return count > 0 ? sum / static_cast<double>(count) : 0;
}

}  // namespace tessera::nn
