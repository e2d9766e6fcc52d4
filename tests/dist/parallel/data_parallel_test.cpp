// Data parallelism equals one rank: loss, every gradient, the norm and the parameters after 3 steps of SGD
// with clipping, whatever the buckets.

#include "dist/parallel/data_parallel.h"

#include <gtest/gtest.h>

#include "dist/parallel/gradients.h"
#include "dist/parallel/parallelize.h"
#include "dist/plan/ring.h"
#include "tensor/ops.h"
#include "tests/dist/parallel/equality_test.h"
#include "tests/tensor/gradcheck.h"

namespace tessera::dist {
namespace {

using testing::bit_equal;

constexpr Index kContext = 5, kBatch = 4;

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

TEST_P(DataParallel, MatchesSingleRank) {
  for (const char* layout : {"", "microbatches=2", "microbatches=3"}) expect_equal(GetParam(), layout);
  expect_equal(GetParam(), "", {.dtype = DType::f32});
}

/// Gradients summed one by one when backward is over: what the finaliser must come to.
Trace naive_trace(bool llama) {
  const Comm all = Mesh(world(), {}).axis("dp").comm("naive");
  const nn::StepExchange exchange = {.total_count =
                                         [all](Index count) {
                                           const Index total = sum(all, count);
                                           return [total] { return total; };
                                         },
                                     .total_loss = [all](double loss) { return sum(all, loss); },
                                     .finish_gradients =
                                         [all](const nn::Parameters& parameters) {
                                           nn::own_gradients(parameters);
                                           for (const nn::ParameterPtr& p : parameters)
                                             all_reduce(all, p->owned_grad);
                                         },
                                     .gradient_norm = nn::own_gradient_norm};
  nn::Transformer model(tiny(llama));
  model.materialize(11, DType::f64, 0.2);
  nn::Optimizer optimizer(model.parameters(), {.kind = nn::OptimizerKind::sgd, .weight_decay = 0});
  Trace trace;
  for (Index step = 0; step < 3; ++step) {
    const auto [loss, norm, tokens] =
        nn::train_step(model, optimizer, my_share(global_batch(step)),
                       {.microbatches = 2, .lr = 0.1, .clip = 0.5, .seed = 11, .step = step}, exchange);
    trace.losses.push_back(loss);
    trace.norms.push_back(norm);
  }
  for (const nn::ParameterPtr& p : model.parameters()) trace.updated.push_back(p->value.detach());
  return trace;
}

Trace bucketed_trace(bool llama, Index bucket_bytes) {
  nn::Transformer model(tiny(llama));
  const Parallel parallel =
      parallelize(model, Mesh(world(), {}),
                  {.seed = 11, .dtype = DType::f64, .std_override = 0.2, .bucket_bytes = bucket_bytes});
  nn::Optimizer optimizer(model.parameters(), {.kind = nn::OptimizerKind::sgd, .weight_decay = 0});
  Trace trace;
  for (Index step = 0; step < 3; ++step) {
    const auto [loss, norm, tokens] = nn::train_step(
        model, optimizer, my_share(global_batch(step)),
        {.microbatches = 2, .lr = 0.1, .clip = 0.5, .seed = 11, .step = step}, parallel.exchange);
    trace.losses.push_back(loss);
    trace.norms.push_back(norm);
  }
  for (const nn::ParameterPtr& p : model.parameters()) trace.updated.push_back(p->value.detach());
  return trace;
}

// A byte: each parameter by itself. All of it: one bucket, which starts when backward is over.
TEST_P(DataParallel, AnyBucketsEqualTheNaiveSum) {
  const Trace naive = naive_trace(GetParam());
  for (const Index bytes : {Index{1}, Index{3000}, Index{1} << 40}) {
    const Trace bucketed = bucketed_trace(GetParam(), bytes);
    for (std::size_t i = 0; i < naive.updated.size(); ++i)
      EXPECT_LT(testing::relative_error(bucketed.updated[i], naive.updated[i]), 1e-11) << i << ' ' << bytes;
    for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(bucketed.norms[i] / naive.norms[i], 1, 1e-11);
  }
}

TEST_P(DataParallel, OverlapChangesNoBit) {
  EXPECT_TRUE(bit_equal_traces(trace_of(GetParam(), "microbatches=2"),
                               trace_of(GetParam(), "microbatches=2", {.overlap = false})));
}

TEST_P(DataParallel, ReplicasStayBitEqual) {
  nn::Transformer model(tiny(GetParam()));
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
  nn::Transformer model(tiny(GetParam())), single(tiny(GetParam()));
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
  nn::Transformer model(tiny(false));
  const Mesh mesh(world(), {});
  const Parallel parallel =
      parallelize(model, mesh, {.bucket_bytes = 3000, .collectives = {.algorithm = Algorithm::ring}});
  nn::Optimizer optimizer(model.parameters(), {});
  const Comm gradients = mesh.axis("dp").comm("gradients");
  const Counter before = gradients.counter(Kind::all_reduce);
  nn::train_step(model, optimizer, my_share(global_batch(0)), {.microbatches = 3}, parallel.exchange);
  const Counter after = gradients.counter(Kind::all_reduce);

  // In the last of three microbatches alone, once per bucket.
  plan::Traffic formula;
  const Buckets buckets = fill_buckets(model, 3000, DType::f32);
  for (const nn::Parameters& bucket : buckets)
    formula =
        formula + plan::ring_all_reduce_traffic(world().rank(), world().size(), nn::count_elements(bucket));
  EXPECT_GT(buckets.size(), 5U);
  EXPECT_EQ(after.calls - before.calls, world().size() > 1 ? std::ssize(buckets) : 0);
  EXPECT_EQ(after.messages_sent - before.messages_sent, formula.sent.messages);
  EXPECT_EQ(after.bytes_sent - before.bytes_sent, 4 * formula.sent.elements);
  const Index count = nn::count_elements(model.parameters());
  EXPECT_EQ(sum(world(), after.bytes_sent - before.bytes_sent), 4 * 2 * count * (world().size() - 1));
}

TEST(Buckets, HoldEachParameterOnceInTheOrderOfBackward) {
  const nn::Transformer model(tiny(false));
  nn::Parameters expected = model.parameters();
  std::ranges::reverse(expected);
  for (const Index bytes : {Index{1}, Index{3000}, Index{1} << 40}) {
    const Buckets buckets = fill_buckets(model, bytes, DType::f32);
    nn::Parameters all;
    for (const nn::Parameters& bucket : buckets) {
      EXPECT_TRUE(bucket.size() == 1 || 4 * nn::count_elements(bucket) <= bytes);
      all.insert(all.end(), bucket.begin(), bucket.end());
    }
    EXPECT_EQ(all, expected);
    EXPECT_EQ(buckets.size() == 1, bytes > 1 << 20);
  }
}

TEST(DataParallelErrors, EveryRankThrowsForALossThatIsNotFinite) {
  nn::Transformer model(tiny(false));
  const Parallel parallel = parallelize(model, Mesh(world(), {}), {});
  if (world().rank() == world().size() - 1) model.parameters().front()->value.fill(std::nan(""));
  nn::Optimizer optimizer(model.parameters(), {});
  nn::Batch batch = global_batch(0);
  EXPECT_THROW(nn::train_step(model, optimizer, batch, {}, parallel.exchange), nn::NonFiniteError);
  EXPECT_EQ(optimizer.steps(), 0);
}

TEST(Parallelize, RefusesWhatItCannotDo) {
  if (world().size() == 1) return;
  nn::Transformer model(tiny(false));
  const Mesh mesh(world(), {.dp = 1, .tp = world().size()});
  EXPECT_NE(testing::error_of([&] { parallelize(model, mesh, {}); }).find("tp is"), std::string::npos);
}

TEST(Parallelize, ReportsWhatEachRankHolds) {
  nn::Transformer model(tiny(true));
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
  nn::Transformer model(tiny(false));
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
