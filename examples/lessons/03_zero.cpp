// ZeRO: ranks that train the same model need not each hold all of its state.
//
//   mpirun -n 4 build/bin/03_zero
//
//     34688 parameters, AdamW (two numbers each), 4 ranks; elements per rank.
//
//     level 0
//       rank  parameters   gradients   optimizer  sent: gradients  sent: parameters
//          0       34688       34688       69376            52032                 0
//          1       34688       34688       69376            52032                 0
//          2       34688       34688       69376            52032                 0
//          3       34688       34688       69376            52032                 0
//     holds: each number that this level shards is held once, every other by each rank
//     holds: no level up to 2 sends more than data parallelism: 2 (n-1) P elements in all
//     holds: losses are those of data parallelism, to 1e-11
//
//     level 1
//       rank  parameters   gradients   optimizer  sent: gradients  sent: parameters
//          0       34688       34688       17344            26016             26016
//          1       34688       34688       17344            26016             26016
//          2       34688       34688       17344            26016             26016
//          3       34688       34688       17344            26016             26016
//     holds: each number that this level shards is held once, every other by each rank
//     holds: no level up to 2 sends more than data parallelism: 2 (n-1) P elements in all
//     holds: losses are those of data parallelism, to 1e-11
//
//     level 2
//       rank  parameters   gradients   optimizer  sent: gradients  sent: parameters
//          0       34688        8672       17344            26016             26016
//          1       34688        8672       17344            26016             26016
//          2       34688        8672       17344            26016             26016
//          3       34688        8672       17344            26016             26016
//     holds: each number that this level shards is held once, every other by each rank
//     holds: no level up to 2 sends more than data parallelism: 2 (n-1) P elements in all
//     holds: losses are those of data parallelism, to 1e-11
//
//     level 3
//       rank  parameters   gradients   optimizer  sent: gradients  sent: parameters
//          0        8672        8672       17344            26016             35544
//          1        8672        8672       17344            26016             35544
//          2        8672        8672       17344            26016             35544
//          3        8672        8672       17344            26016             35544
//     holds: each number that this level shards is held once, every other by each rank
//     holds: losses are those of data parallelism, to 1e-11
//
// What to change: give train_step .microbatches = 4. Levels 2 and 3 then send each microbatch's gradients,
// level 3 its parameters, too; levels 0 and 1 send no more than before. Which claims must change?

#include <algorithm>
#include <cmath>

#include "dist/parallel/data_parallel.h"
#include "dist/parallel/parallelize.h"
#include "examples/corpus.h"
#include "examples/lessons/lesson.h"
#include "nn/data.h"
#include "tensor/context.h"

namespace tessera {
namespace {

constexpr Index kSteps = 3, kBatch = 8;
constexpr double kElement = sizeof(double);

/// What a level came to on this rank.
struct Outcome {
  std::vector<double> losses;
  double parameters = 0, gradients = 0, optimizer = 0;  // elements held after a step
  double reduced = 0, gathered = 0;                     // elements sent in a step
};

double held(Category category) {
  return static_cast<double>(context().ledger.current_bytes(category)) / kElement;
}

double sent(const dist::Mesh& mesh, const char* purpose) {
  return static_cast<double>(mesh.axis("dp").comm(purpose).counter().bytes_sent) / kElement;
}

Outcome train(const dist::Comm& world, int level, const nn::Dataset& data) {
  const dist::Mesh mesh(world, {});
  const double parameters_before = held(Category::parameter);
  nn::Transformer model(nn::find_model("gpt-pico"));
  const dist::Parallel parallel = dist::parallelize(
      model, mesh, {.dtype = DType::f64, .zero = level, .collectives = {.algorithm = dist::Algorithm::ring}});
  nn::Optimizer optimizer(model.parameters(), {});
  Outcome outcome;
  for (Index step = 0; step < kSteps; ++step) {
    const nn::Batch batch = dist::data_share(data, mesh.axis("dp"), 1, step, kBatch);
    outcome.losses.push_back(
        nn::train_step(model, optimizer, batch, {.clip = 1, .step = step}, parallel.exchange).loss);
  }
  outcome.parameters = held(Category::parameter) - parameters_before;
  outcome.gradients = held(Category::gradient);
  outcome.optimizer = held(Category::optimizer);
  outcome.reduced = sent(mesh, "gradients") / kSteps;
  outcome.gathered = sent(mesh, "parameters") / kSteps;
  return outcome;
}

double difference(const std::vector<double>& a, const std::vector<double>& b) {
  double worst = 0;
  for (std::size_t i = 0; i < a.size(); ++i) worst = std::max(worst, std::abs(a[i] / b[i] - 1));
  return worst;
}

void lesson(Lesson& l) {
  const dist::Comm& world = l.world();
  const nn::ModelConfig config = nn::find_model("gpt-pico");
  const nn::Dataset data = nn::Dataset::from_bytes(tessera_corpus(), "the built-in text", config.context);
  const auto all = static_cast<double>(nn::count_elements(nn::Transformer(config).parameters()));
  const double n = world.size();
  const Outcome plain = train(world, 0, data);
  l.say("{} parameters, AdamW (two numbers each), {} ranks; elements per rank.\n", all, n);
  for (int level = 0; level < (n > 1 ? 4 : 1); ++level) {
    const Outcome o = level == 0 ? plain : train(world, level, data);
    l.say("\nlevel {}\n", level);
    l.table({"parameters", "gradients", "optimizer", "sent: gradients", "sent: parameters"},
            {o.parameters, o.gradients, o.optimizer, o.reduced, o.gathered});

    // Shares differ by a row; so what is compared is what all ranks hold together.
    const auto total = [&](double mine) { return std::round(dist::sum(world, mine)); };
    const bool optimizer = total(o.optimizer) == 2 * all * (level >= 1 ? 1 : n);
    const bool gradients = total(o.gradients) == all * (level >= 2 ? 1 : n);
    const bool parameters = total(o.parameters) == all * (level >= 3 ? 1 : n);
    l.claim("each number that this level shards is held once, every other by each rank",
            optimizer && gradients && parameters);
    if (level < 3)
      l.claim("no level up to 2 sends more than data parallelism: 2 (n-1) P elements in all",
              total(o.reduced + o.gathered) == 2 * (n - 1) * all);
    l.claim("losses are those of data parallelism, to 1e-11", difference(o.losses, plain.losses) < 1e-11);
  }
}

}  // namespace
}  // namespace tessera

int main(int argc, char** argv) {
  return tessera::run_lesson(argc, argv, "03_zero", "Ranks share out a model's state.", tessera::lesson);
}
