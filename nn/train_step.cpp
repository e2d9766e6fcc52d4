#include "nn/train_step.h"

#include <cmath>

#include "tensor/autograd.h"

namespace tessera::nn {

Tensor gradient_or_zero(const Parameter& parameter) {
  const Tensor& value = parameter.value;
  const Tensor grad = value.grad();
  return grad.defined() ? grad : Tensor::zeros(value.shape(), value.dtype(), Category::gradient);
}

void own_gradients(const Parameters& parameters) {
  for (const ParameterPtr& p : parameters) p->owned_grad = p->owned_rows(gradient_or_zero(*p));
}

double own_gradient_norm(const Parameters& parameters) { return std::sqrt(squared_grad_norm(parameters)); }

double accumulate_gradients(Transformer& model, const std::vector<Batch>& microbatches,
                            const TotalCount& total_count, const Pass& pass, const StepExchange& exchange) {
  const std::vector<Tensor> leaves = values(model.parameters());
  double total = 0;
  for (const Batch& batch : microbatches) {
    exchange.begin_microbatch(&batch == &microbatches.back());
    const LossSum loss = model.loss({batch, pass.seed, pass.step, pass.training});
    total += loss.sum.item();
    const Index count = total_count();
    backward(loss.sum, count > 0 ? 1 / static_cast<double>(count) : 0, leaves);
  }
  return total;
}

StepResult train_step(Transformer& model, Optimizer& optimizer, const Batch& batch,
                      const StepOptions& options, const StepExchange& exchange) {
  const Parameters parameters = model.parameters();
  zero_grad(parameters);
  const TotalCount total_count = exchange.total_count(batch.num_targets());
  const Pass pass = {batch, options.seed, options.step, true};
  const double sum =
      accumulate_gradients(model, split(batch, options.microbatches), total_count, pass, exchange);
  exchange.finish_gradients(parameters);

  const double loss = exchange.total_loss(sum);
  const Index count = total_count();
  const StepResult result = {count > 0 ? loss / static_cast<double>(count) : 0,
                             exchange.gradient_norm(parameters), count};
  check_finite("loss", result.loss, options.step);
  check_finite("gradient norm", result.grad_norm, options.step);
  optimizer.step(options.lr, clip_scale(result.grad_norm, options.clip));
  exchange.share_update();
  return result;
}

void check_finite(const char* what, double value, Index step) {
  if (std::isfinite(value)) return;
  throw NonFiniteError("the " + std::string(what) + " of step " + std::to_string(step) + " is " +
                       std::to_string(value) +
                       ", expected a finite number; a smaller --lr or a --clip may help");
}

double evaluate(Transformer& model, const std::vector<Batch>& batches, const StepExchange& exchange) {
  const NoGrad no_grad;
  double sum = 0;
  Index count = 0;
  for (const Batch& batch : batches) {
    const LossSum loss = model.loss({batch});
    sum += loss.sum.item();
    count += loss.count;
  }
  const double total = exchange.total_loss(sum);
  const Index all = exchange.total_count(count)();
  return all > 0 ? total / static_cast<double>(all) : 0;
}

}  // namespace tessera::nn
