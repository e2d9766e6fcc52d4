// Data parallelism: every rank has the whole model and a share of the batch, and gradients are summed.
//
//   mpirun -n 3 build/bin/02_data_parallel
//
//     10693 parameters on each of 3 ranks, one sequence each.
//
//       rank     targets  messages sent  elements sent
//          0           1              4          14257
//          1           4              4          14258
//          2           7              4          14257
//
//     error of the sum 7.8e-16, of the mean of means 7.5e+00
//
//     holds: the sum is the gradient of the whole batch, to 1e-11
//     holds: a mean of means is not: targets are unequal
//     holds: a rank sends 2 (n-1)/n of the gradient, in 2 (n-1) messages
//
// What to change: let every rank have as many targets (num_targets below), and the mean of means is right by
// chance. Set the seed of backward to 1 instead of 1 / count, and see which claim fails.

#include <algorithm>
#include <cmath>

#include "dist/comm/collectives.h"
#include "dist/plan/ring.h"
#include "examples/lessons/lesson.h"
#include "nn/train_step.h"
#include "tensor/random.h"

namespace tessera {
namespace {

using Gradients = std::vector<Tensor>;

/// One sequence per rank. Rank r's has 3 r + 1 targets: the rest is ignored, as a prompt's tokens are.
nn::Batch whole_batch(const nn::ModelConfig& config, Index sequences) {
  const RandomStream stream(1, "tokens");
  std::vector<std::int32_t> tokens, targets;
  for (Index i = 0; i < sequences * config.context; ++i) {
    const Index num_targets = 3 * (i / config.context) + 1;
    tokens.push_back(static_cast<std::int32_t>(stream.below(2 * i, config.vocab)));
    targets.push_back(i % config.context < num_targets
                          ? static_cast<std::int32_t>(stream.below(2 * i + 1, config.vocab))
                          : nn::kIgnore);
  }
  return nn::make_batch(tokens, targets, config.context);
}

/// d(sum of losses / count) of a batch.
Gradients gradients(nn::Transformer& model, const nn::Batch& batch, Index count) {
  nn::zero_grad(model.parameters());
  nn::accumulate_gradients(model, {batch}, [&] { return count; }, {batch});
  Gradients result;
  for (const nn::ParameterPtr& p : model.parameters()) result.push_back(nn::gradient_or_zero(*p).clone());
  return result;
}

double largest(const Tensor& x) {
  double worst = 0;
  for (const double value : x.span<double>()) worst = std::max(worst, std::abs(value));
  return worst;
}

/// Largest difference over all parameters, relative to each one's largest gradient.
double error(const Gradients& a, const Gradients& b) {
  double worst = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const Tensor difference = a[i].clone();
    for (Index k = 0; k < a[i].numel(); ++k) difference.data<double>()[k] -= b[i].data<double>()[k];
    if (largest(b[i]) > 1e-12) worst = std::max(worst, largest(difference) / largest(b[i]));
  }
  return worst;
}

void lesson(Lesson& l) {
  const dist::Comm& world = l.world();
  nn::ModelConfig config = nn::find_model("gpt-tiny");
  config.dropout = 0;
  config.context = 3 * world.size();
  nn::Transformer model(config);
  model.materialize(7, DType::f64);

  // The batch of the step, and the sequence of it that is this rank's.
  const nn::Batch all = whole_batch(config, world.size());
  const nn::Batch mine = nn::slice(all, world.rank(), world.rank() + 1);
  const Gradients wanted = gradients(model, all, all.num_targets());

  // The whole of data parallelism: divide by the targets of all ranks, and sum.
  const Index count = dist::sum(world, mine.num_targets());
  Gradients summed = gradients(model, mine, count);
  dist::all_reduce(world, summed, {.algorithm = dist::Algorithm::ring});

  // What is often done instead: each rank's own mean, then the mean of those.
  Gradients averaged = gradients(model, mine, mine.num_targets());
  dist::all_reduce(world, averaged);
  for (const Tensor& g : averaged)
    for (double& value : g.span<double>()) value /= world.size();

  const auto elements = nn::count_elements(model.parameters());
  const dist::Counter& sent = world.counter(dist::Kind::all_reduce, dist::Algorithm::ring);
  l.say("{} parameters on each of {} ranks, one sequence each.\n\n", elements, world.size());
  l.table({"targets", "messages sent", "elements sent"},
          {static_cast<double>(mine.num_targets()), static_cast<double>(sent.messages_sent),
           static_cast<double>(sent.bytes_sent) / 8});
  const double right = error(summed, wanted), wrong = error(averaged, wanted);
  l.say("\nerror of the sum {:.1e}, of the mean of means {:.1e}\n\n", right, wrong);

  const plan::Traffic formula = plan::ring_all_reduce_traffic(world.rank(), world.size(), elements);
  l.claim("the sum is the gradient of the whole batch, to 1e-11", right < 1e-11);
  if (world.size() > 1) l.claim("a mean of means is not: targets are unequal", wrong > 1e-3);
  l.claim("a rank sends 2 (n-1)/n of the gradient, in 2 (n-1) messages",
          sent.messages_sent == formula.sent.messages && sent.bytes_sent == 8 * formula.sent.elements &&
              sent.messages_sent == 2 * (world.size() - 1));
}

}  // namespace
}  // namespace tessera

int main(int argc, char** argv) {
  return tessera::run_lesson(argc, argv, "02_data_parallel", "Every rank has a share of the batch.",
                             tessera::lesson);
}
