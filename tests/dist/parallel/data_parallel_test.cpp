// Data parallelism equals one rank: loss, every gradient, the norm and the parameters after 3 steps of SGD
// with clipping.

#include "dist/parallel/data_parallel.h"

#include <gtest/gtest.h>

#include "dist/parallel/gradients.h"
#include "dist/parallel/parallelize.h"
#include "dist/plan/ring.h"
#include "tensor/ops.h"
#include "tests/dist/mpi_test.h"
#include "tests/nn/tiny_model.h"
#include "tests/tensor/gradcheck.h"

namespace tessera::dist {
namespace {

using testing::bit_equal;
using testing::relative_error;
using testing::tiny_model;

constexpr Index kContext = 5, kVocab = 37, kBatch = 4;

/// A global batch whose sequences have 5, 0, 2 and 1 targets that count, other tokens at each step.
nn::Batch global_batch(Index step) {
  const RandomStream stream(3, "tokens", static_cast<std::uint64_t>(step));
  std::vector<std::int32_t> tokens, targets;
  static constexpr Index kTargets[kBatch] = {5, 0, 2, 1};
  for (Index i = 0; i < kBatch * kContext; ++i) {
    tokens.push_back(static_cast<std::int32_t>(stream.below(2 * i, kVocab)));
    const bool counts = i % kContext < kTargets[i / kContext];
    targets.push_back(counts ? static_cast<std::int32_t>(stream.below(2 * i + 1, kVocab)) : nn::kIgnore);
  }
  return nn::make_batch(tokens, targets, kContext);
}

nn::Batch my_share(const nn::Batch& batch) {
  const plan::Range share = plan::share(batch.num_sequences(), world().size(), world().rank());
  return nn::slice(batch, share.begin, share.end());
}

/// What EQ compares, for each of three steps of SGD; the gradients are those of the first.
struct Trace {
  std::vector<double> losses, norms;
  std::vector<Tensor> grads, updated;
};

struct Run {
  bool llama = false;
  DType dtype = DType::f64;
  Index microbatches = 1;
  bool parallel = false;
};

Trace trace(const Run& run) {
  nn::Transformer model(tiny_model(run.llama, 0.1));
  nn::StepExchange exchange;
  if (run.parallel) {
    exchange =
        parallelize(model, Mesh(world(), {}), {.seed = 11, .dtype = run.dtype, .std_override = 0.2}).exchange;
  } else {
    model.materialize(11, run.dtype, 0.2);
  }
  // f64 runs start from f32-rounded weights, so that f32 runs can be measured against them.
  for (const nn::ParameterPtr& p : model.parameters()) {
    p->value.copy_from(testing::to(run.dtype, testing::to(DType::f32, p->value)));
  }
  nn::Optimizer optimizer(model.parameters(), {.kind = nn::OptimizerKind::sgd, .weight_decay = 0});
  Trace result;
  for (Index step = 0; step < 3; ++step) {
    const nn::Batch all = global_batch(step);
    const nn::StepOptions options = {run.microbatches, 0.1, 0.5, 2, step};
    const auto [loss, norm, tokens] =
        nn::train_step(model, optimizer, run.parallel ? my_share(all) : all, options, exchange);
    EXPECT_EQ(tokens, 8);
    result.losses.push_back(loss);
    result.norms.push_back(norm);
    if (step > 0) continue;
    for (const nn::ParameterPtr& p : model.parameters()) result.grads.push_back(p->owned_grad.clone());
  }
  for (const nn::ParameterPtr& p : model.parameters()) result.updated.push_back(p->value.detach());
  return result;
}

/// The worst relative error of a trace. The key bias without rotation has gradient zero by symmetry: there is
/// only noise.
double error(const Trace& a, const Trace& b, bool llama) {
  double worst = 0;
  for (std::size_t i = 0; i < a.losses.size(); ++i) {
    worst = std::max({worst, std::abs(a.losses[i] / b.losses[i] - 1), std::abs(a.norms[i] / b.norms[i] - 1)});
  }
  const nn::Parameters parameters = nn::Transformer(tiny_model(llama, 0.1)).parameters();
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (!llama && parameters[i]->name.ends_with("k.bias")) continue;
    worst = std::max(worst, relative_error(a.grads[i], b.grads[i]));
    worst = std::max(worst, relative_error(a.updated[i], b.updated[i]));
  }
  return worst;
}

/// Whether all ranks hold the same bits.
bool same_on_all_ranks(const Tensor& x) {
  const Tensor of_root = x.clone();
  broadcast(world(), of_root, 0);
  return max(world(), bit_equal(x, of_root) ? 0 : 1) == 0;
}

bool same_numbers(const Tensor& a, const Tensor& b) {
  return std::ranges::equal(a.span<std::int32_t>(), b.span<std::int32_t>());
}

class DataParallel : public ::testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Families, DataParallel, ::testing::Bool(),
                         [](const auto& family) { return family.param ? "Llama" : "Gpt"; });

TEST_P(DataParallel, MatchesSingleRankInF64) {
  const Trace reference = trace({.llama = GetParam()});
  for (const Index microbatches : {1, 2, 3}) {
    const Trace parallel = trace({.llama = GetParam(), .microbatches = microbatches, .parallel = true});
    EXPECT_LT(error(parallel, reference, GetParam()), 1e-11) << microbatches << " microbatches";
  }
}

TEST_P(DataParallel, IsAsExactAsOneRankInF32) {
  const Trace reference = trace({.llama = GetParam()});
  const double single = error(trace({.llama = GetParam(), .dtype = DType::f32}), reference, GetParam());
  const double parallel =
      error(trace({.llama = GetParam(), .dtype = DType::f32, .parallel = true}), reference, GetParam());
  EXPECT_LT(parallel, 4 * single);
}

TEST_P(DataParallel, ReplicasStayBitEqual) {
  nn::Transformer model(tiny_model(GetParam(), 0.1));
  const Parallel parallel = parallelize(model, Mesh(world(), {}), {.dtype = DType::f32});
  for (const nn::ParameterPtr& p : model.parameters()) EXPECT_TRUE(same_on_all_ranks(p->value)) << p->name;
  nn::Optimizer optimizer(model.parameters(), {});
  for (Index step = 0; step < 20; ++step) {
    nn::train_step(model, optimizer, my_share(global_batch(step)),
                   {.microbatches = 2, .clip = 1, .step = step}, parallel.exchange);
  }
  for (const nn::ParameterPtr& p : model.parameters()) EXPECT_TRUE(same_on_all_ranks(p->value)) << p->name;
}

TEST_P(DataParallel, InitialWeightsAreThoseOfOneRank) {
  nn::Transformer model(tiny_model(GetParam(), 0.1)), single(tiny_model(GetParam(), 0.1));
  parallelize(model, Mesh(world(), {}), {.seed = 5});
  single.materialize(5, DType::f32);
  const nn::Parameters a = model.parameters(), b = single.parameters();
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_TRUE(bit_equal(a[i]->value, b[i]->value)) << a[i]->name;
}

TEST(DataShare, IsASliceOfTheGlobalBatch) {
  const nn::Dataset data =
      nn::Dataset::from_bytes(std::string(4000, 'x') + std::string(4000, 'y'), "a test", kContext);
  const Axis dp = Mesh(world(), {}).axis("dp");
  for (const Index batch_size : {0, 1, 4, 7, 16}) {
    const nn::Batch all = data.batch(1, 3, batch_size), mine = data_share(data, dp, 1, 3, batch_size);
    const plan::Range share = plan::share(batch_size, dp.size(), dp.rank());
    const nn::Batch expected = nn::slice(all, share.begin, share.end());
    EXPECT_TRUE(same_numbers(mine.tokens, expected.tokens));
    EXPECT_TRUE(same_numbers(mine.targets, expected.targets));
    EXPECT_TRUE(same_numbers(mine.sequences, expected.sequences));
    EXPECT_EQ(sum(world(), mine.num_sequences()), batch_size);
  }
}

TEST(DataShare, DrawsItsSliceOfTheDropoutMask) {
  const nn::Batch all = global_batch(0), mine = my_share(all);
  const auto mask = [](const nn::Batch& batch) {
    const Tensor ones({batch.num_sequences(), kContext, 12}, DType::f32);
    ones.fill(1);
    const RandomStream stream(1, "dropout", 4);
    return dropout(ones, 0.3, {stream, batch.sequences, batch.positions, batch.num_positions});
  };
  const plan::Range share = plan::share(kBatch, world().size(), world().rank());
  EXPECT_TRUE(bit_equal(mask(mine), mask(all).slice(share.begin, share.end())));
}

TEST(DataParallelTraffic, MatchesTheFormula) {
  nn::Transformer model(tiny_model(false, 0.1));
  const Mesh mesh(world(), {});
  const Parallel parallel = parallelize(model, mesh, {.collectives = {.algorithm = Algorithm::ring}});
  nn::Optimizer optimizer(model.parameters(), {});
  const Comm gradients = mesh.axis("dp").comm("gradients");
  const Counter before = gradients.counter(Kind::all_reduce);
  nn::train_step(model, optimizer, my_share(global_batch(0)), {.microbatches = 3}, parallel.exchange);
  const Counter after = gradients.counter(Kind::all_reduce);

  const Index count = nn::count_elements(model.parameters());
  const plan::Traffic formula = plan::ring_all_reduce_traffic(world().rank(), world().size(), count);
  EXPECT_EQ(after.messages_sent - before.messages_sent, formula.sent.messages);
  EXPECT_EQ(after.bytes_sent - before.bytes_sent, 4 * formula.sent.elements);
  EXPECT_EQ(sum(world(), after.bytes_sent - before.bytes_sent), 4 * 2 * count * (world().size() - 1));
}

TEST(DataParallelErrors, EveryRankThrowsForALossThatIsNotFinite) {
  nn::Transformer model(tiny_model(false, 0.1));
  const Parallel parallel = parallelize(model, Mesh(world(), {}), {});
  if (world().rank() == world().size() - 1) model.parameters().front()->value.fill(std::nan(""));
  nn::Optimizer optimizer(model.parameters(), {});
  nn::Batch batch = global_batch(0);
  EXPECT_THROW(nn::train_step(model, optimizer, batch, {}, parallel.exchange), nn::NonFiniteError);
  EXPECT_EQ(optimizer.steps(), 0);
}

TEST(Parallelize, RefusesWhatItCannotDo) {
  if (world().size() == 1) return;
  nn::Transformer model(tiny_model(false, 0.1));
  const Mesh mesh(world(), {.dp = 1, .tp = world().size()});
  EXPECT_NE(testing::error_of([&] { parallelize(model, mesh, {}); }).find("tp is"), std::string::npos);
}

TEST(Parallelize, ReportsWhatEachRankHolds) {
  nn::Transformer model(tiny_model(true, 0.1));
  const LayoutReport report = parallelize(model, Mesh(world(), {}), {}).report;
  EXPECT_EQ(report.parameters.size(), model.parameters().size());
  EXPECT_EQ(report.num_used, nn::count_elements(model.parameters()));
  EXPECT_EQ(report.parameters[1].module, "RmsNorm");
  const std::string placement = world().size() > 1 ? "dp: replicated, gradient partial" : "";
  for (const HeldParameter& p : report.parameters) EXPECT_EQ(p.placement, placement) << p.name;
  EXPECT_NE(to_string(report).find("blocks.*.mlp.gate.weight"), std::string::npos);
}

TEST(Placement, MustBeDeclaredForEveryParameterAndAxis) {
  if (world().size() == 1) return;
  nn::Transformer model(tiny_model(false, 0.1));
  const Mesh mesh(world(), {});
  PlacementTable table(model.parameters(), mesh.grid());
  EXPECT_THROW(table.check_complete(), std::logic_error);
  data_parallel(table, mesh.axis("dp"));
  table.check_complete();
  const nn::ParameterPtr p = model.parameters()[0];
  EXPECT_THROW(table.declare(p, "dp", {Held::sharded, Share::complete}), std::logic_error);
}

}  // namespace
}  // namespace tessera::dist
