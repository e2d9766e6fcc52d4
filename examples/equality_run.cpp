#include "examples/equality_run.h"

#include <cstring>

#include "dist/parallel/data_parallel.h"
#include "dist/parallel/rank_major.h"
#include "tensor/random.h"

namespace tessera {
namespace {

constexpr double kStd = 0.2, kClip = 0.5;

/// The whole batch of a step. Sequence i has all its targets, none, half of them or one, and so on.
nn::Batch global_batch(const EqualityCase& what, Index step) {
  const Index context = what.config.context;
  const RandomStream stream(what.seed, "tokens", static_cast<std::uint64_t>(step));
  const Index num_targets[] = {context, 0, (context + 1) / 2, 1};
  std::vector<std::int32_t> tokens, targets;
  const auto draw = [&](Index i) { return static_cast<std::int32_t>(stream.below(i, what.config.vocab)); };
  for (Index i = 0; i < what.batch * context; ++i) {
    tokens.push_back(draw(2 * i));
    targets.push_back(i % context < num_targets[i / context % 4] ? draw(2 * i + 1) : nn::kIgnore);
  }
  return nn::make_batch(tokens, targets, context);
}

nn::Batch share_of(const nn::Batch& batch, const dist::Axis& dp) {
  const plan::Range mine = plan::share(batch.num_sequences(), dp.size(), dp.rank());
  return nn::slice(batch, mine.begin, mine.end());
}

/// f64 runs start from weights rounded to f32, so that f32 runs can be measured against them.
void round_to_f32(const Tensor& values) {
  if (values.dtype() != DType::f64) return;
  for (double& value : values.span<double>()) value = static_cast<float>(value);
}

void round_weights(const nn::Parameters& parameters) {
  for (const nn::ParameterPtr& p : parameters) {
    if (p->owned_apart)
      round_to_f32(p->owned_value);
    else
      round_to_f32(p->value);
  }
}

/// Three steps on the batches that `share` cuts.
template <class Share>
Trace train(nn::Transformer& model, const EqualityCase& what, Index microbatches,
            const nn::StepExchange& exchange, Share&& share) {
  const nn::Parameters parameters = model.parameters();
  round_weights(parameters);
  Trace trace;
  for (const nn::ParameterPtr& p : parameters) trace.initial.push_back(p->owned_value.clone());
  nn::Optimizer optimizer(parameters, {.kind = nn::OptimizerKind::sgd, .weight_decay = 0});
  for (Index step = 0; step < kEqualitySteps; ++step) {
    const nn::StepOptions options = {microbatches, kEqualityLr, kClip, what.seed, step};
    const nn::StepResult result =
        nn::train_step(model, optimizer, share(global_batch(what, step)), options, exchange);
    trace.losses.push_back(result.loss);
    trace.norms.push_back(result.grad_norm);
    if (step > 0) continue;
    for (const nn::ParameterPtr& p : parameters) trace.grads.push_back(p->owned_grad.clone());
  }
  for (const nn::ParameterPtr& p : parameters) trace.updated.push_back(p->owned_value.detach());
  return trace;
}

/// Whether all ranks of `axis` hold the same bits.
bool same_along(const dist::Axis& axis, const nn::Parameters& parameters) {
  bool same = true;
  for (const nn::ParameterPtr& p : parameters) {
    const Tensor of_first = p->owned_value.clone();
    dist::broadcast(axis.comm("check"), of_first, 0);
    same = same && same_bits(of_first, p->owned_value);
  }
  return same;
}

}  // namespace

Trace reference(const EqualityCase& what, DType dtype) {
  nn::Transformer model(what.config);
  model.materialize(what.seed, dtype, kStd);
  return train(model, what, 1, {}, [](const nn::Batch& batch) { return batch; });
}

LayoutRun run_layout(const EqualityCase& what, const Layout& layout, const EqualityOptions& options,
                     const dist::Comm& world) {
  const dist::Mesh mesh(world, layout.degrees);
  nn::Transformer model(what.config);
  const dist::Parallel parallel = dist::parallelize(model, mesh,
                                                    {.seed = what.seed,
                                                     .dtype = options.dtype,
                                                     .std_override = kStd,
                                                     .zero = layout.zero,
                                                     .bucket_bytes = options.bucket_bytes,
                                                     .overlap = options.overlap,
                                                     .collectives = options.collectives});
  model.set_recompute(layout.recompute);
  const dist::Axis dp = mesh.axis("dp"), shard = mesh.axis("shard");
  LayoutRun run;
  run.parameters = model.parameters();
  run.trace = train(model, what, layout.microbatches, parallel.exchange,
                    [&](const nn::Batch& batch) { return share_of(batch, dp); });
  const int level = shard.size() > 1 ? layout.zero : 0;
  run.problem = sharding_problem(run.parameters, level, shard.size(), shard.rank());
  if (run.problem.empty() != (dist::max(world, run.problem.empty() ? 0 : 1) == 0))
    run.problem = "on another rank";
  const dist::Axis copies = level > 0 ? mesh.axis("replicate") : dp;
  run.replicas_equal = dist::max(world, same_along(copies, run.parameters) ? 0 : 1) == 0;
  return run;
}

bool same_bits(const Tensor& a, const Tensor& b) {
  if (a.shape() != b.shape() || a.dtype() != b.dtype()) return false;
  return a.numel() == 0 || dispatch(a.dtype(), [&]<class T>() {
           return std::memcmp(a.data<T>(), b.data<T>(), static_cast<std::size_t>(a.bytes())) == 0;
         });
}

std::string sharding_problem(const nn::Parameters& parameters, int level, int ranks, int rank) {
  if (level == 0) return "";
  for (const nn::ParameterPtr& p : parameters) {
    const Index rows = p->used.shape[0], share = dist::row_share(rows, ranks, rank).size;
    const std::string where = p->name + " of " + std::to_string(rows) + " rows: ";
    if (p->owned.shape[0] != share || p->owned_value.dim(0) != share)
      return where + "this rank owns " + std::to_string(p->owned_value.dim(0)) + ", expected " +
             std::to_string(share);
    if (level >= 2 && p->value.grad().defined()) return where + "all of its gradient is here after the step";
    if (level == 3 && !p->value.storage()->released()) return where + "all of it is here after the step";
  }
  return "";
}

}  // namespace tessera
