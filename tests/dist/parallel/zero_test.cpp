// ZeRO levels 1 to 3 and hybrid sharding equal one rank, send what the formula says, and hold what they
// should.

#include "dist/parallel/zero.h"

#include "dist/parallel/data_parallel.h"
#include "tests/dist/parallel/equality_test.h"
#include "tests/tensor/gradcheck.h"

namespace tessera::dist {
namespace {

std::string at(int level, const std::string& more = "") {
  return "zero=" + std::to_string(level) + " " + more;
}

/// A model made parallel at a ZeRO level, and its optimizer.
struct Trained {
  explicit Trained(ParallelOptions options, const nn::OptimizerOptions& optimizer_options = {},
                   Degrees degrees = {}, bool llama = false)
      : mesh(world(), degrees),
        model(tiny(llama)),
        parallel(parallelize(model, mesh, options)),
        optimizer(model.parameters(), optimizer_options) {}

  nn::StepResult step(const nn::Batch& batch, const nn::StepOptions& options) {
    return nn::train_step(model, optimizer, batch, options, parallel.exchange);
  }

  Mesh mesh;
  nn::Transformer model;
  Parallel parallel;
  nn::Optimizer optimizer;
};

class Zero : public ::testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    if (world().size() == 1) GTEST_SKIP() << "one rank has nobody to share with";
  }
};
INSTANTIATE_TEST_SUITE_P(Levels, Zero, ::testing::Values(1, 2, 3));

TEST_P(Zero, MatchesSingleRank) {
  for (const bool llama : {false, true}) {
    for (const char* more : {"", "microbatches=3", "microbatches=2 recompute=full", "recompute=selective"})
      expect_equal(llama, at(GetParam(), more));
    expect_equal(llama, at(GetParam(), "microbatches=2"), {.dtype = DType::f32});
  }
}

TEST_P(Zero, MatchesSingleRankWithAnyBuckets) {
  for (const Index bytes : {Index{1}, Index{1} << 40})
    expect_equal(false, at(GetParam(), "microbatches=2"), {.bucket_bytes = bytes});
}

TEST_P(Zero, MatchesSingleRankShardingWithinReplicatingAcross) {
  for (int shard = 1; shard < world().size(); ++shard) {
    if (world().size() % shard != 0) continue;
    for (const char* more : {"", "microbatches=3"})
      expect_equal(true, at(GetParam(), "shard=" + std::to_string(shard) + " " + more));
  }
}

TEST_P(Zero, OverlapChangesNoBit) {
  EXPECT_TRUE(bit_equal_traces(trace_of(true, at(GetParam(), "microbatches=2")),
                               trace_of(true, at(GetParam(), "microbatches=2"), {.overlap = false})));
}

TEST_P(Zero, RecomputeChangesNoBit) {
  const Trace none = trace_of(false, at(GetParam()));
  for (const char* kind : {"recompute=full", "recompute=selective"})
    EXPECT_TRUE(bit_equal_traces(none, trace_of(false, at(GetParam(), kind)))) << kind;
}

TEST_P(Zero, EvaluatesLikeOneRank) {
  Trained sharded({.seed = 5, .zero = GetParam()});
  nn::Transformer single(tiny(false));
  single.materialize(5, DType::f32);
  std::vector<nn::Batch> batches;  // unequal sizes and counts, more than ranks or fewer
  for (Index i = 0; i < 5; ++i) batches.push_back(nn::slice(global_batch(i), i % 2, 4));
  const double loss =
      nn::evaluate(sharded.model, data_share(batches, sharded.mesh.axis("dp")), sharded.parallel.exchange);
  EXPECT_NEAR(loss / nn::evaluate(single, batches), 1, 1e-5);
  if (GetParam() < 3) return;
  for (const nn::ParameterPtr& p : sharded.model.parameters())
    EXPECT_TRUE(p->value.storage()->released()) << p->name;
}

// Gradients are zero, so an update is decay alone: of matrices, however they are cut.
TEST_P(Zero, DecaysMatricesAlone) {
  constexpr double kLr = 0.1, kDecay = 0.5;
  Trained run({.dtype = DType::f64, .zero = GetParam()}, {.weight_decay = kDecay});
  std::vector<Tensor> before;
  for (const nn::ParameterPtr& p : run.model.parameters()) before.push_back(p->owned_value.clone());
  nn::Batch batch = my_share(global_batch(0));
  batch.targets = batch.targets.clone();
  std::ranges::fill(batch.targets.span<std::int32_t>(), nn::kIgnore);
  run.step(batch, {.lr = kLr});
  std::size_t i = 0;
  for (const nn::ParameterPtr& p : run.model.parameters()) {
    const Tensor& old = before[i++];
    for (Index k = 0; k < old.numel(); ++k)
      EXPECT_EQ(p->owned_value.data<double>()[k],
                old.data<double>()[k] * (p->global_shape.num_dims() >= 2 ? 1 - kLr * kDecay : 1))
          << p->name;
  }
}

TEST_P(Zero, NoRankUpdatesForALossThatIsNotFinite) {
  Trained run({.zero = GetParam()});
  // The last rank that owns rows of the embedding breaks one.
  const nn::ParameterPtr p = run.model.parameters().front();
  if (world().rank() == world().size() - 1) p->owned_value.fill(std::nan(""));
  EXPECT_THROW(
      {
        for (Index step = 0; step < 2; ++step) run.step(my_share(global_batch(step)), {.step = step});
      },
      nn::NonFiniteError);
  EXPECT_EQ(max(world(), run.optimizer.steps()), sum(world(), run.optimizer.steps()) / world().size());
}

TEST_P(Zero, HoldsItsShare) {
  Trained run({.zero = GetParam()}, {}, {}, true);
  EXPECT_EQ(sharding_problem(run.model.parameters(), GetParam(), world().size(), world().rank()), "");
  const Index whole = nn::count_elements(run.model.parameters());
  EXPECT_EQ(sum(world(), run.parallel.report.num_owned), whole);

  const auto bytes = [](Category category) { return context().ledger.current_bytes(category); };
  const Index optimizer_before = bytes(Category::optimizer);
  run.step(my_share(global_batch(0)), {.microbatches = 2});
  EXPECT_EQ(bytes(Category::optimizer) - optimizer_before, 2 * 4 * run.parallel.report.num_owned);
  Index gradients = 0, values = 0;
  for (const nn::ParameterPtr& p : run.model.parameters()) {
    gradients += p->owned_grad.storage()->bytes();
    if (!p->value.storage()->released()) values += p->value.storage()->bytes();
  }
  EXPECT_EQ(gradients, 4 * (GetParam() == 1 ? whole : run.parallel.report.num_owned));
  EXPECT_EQ(values, GetParam() == 3 ? 0 : 4 * whole);
}

/// The branch of one rank in two skips a block's MLP: unused parameters there have gradient zero.
class EvenRanksOnly : public nn::Module {
 public:
  explicit EvenRanksOnly(nn::Layer inner) : inner_(std::move(inner)) {}
  Tensor forward(const Tensor& x) override { return world().rank() % 2 == 0 ? inner_->forward(x) : x; }
  void collect(nn::Parameters& into) const override { inner_->collect(into); }
  std::string type() const override { return inner_->type(); }

 private:
  nn::Layer inner_;
};

/// Weights that a rank owns after two steps, as far as they are its share at level 3.
std::vector<Tensor> branching_run(int level) {
  nn::Transformer model(tiny(true));
  auto& mlp = model.blocks[2]->mlp;
  mlp = std::make_unique<EvenRanksOnly>(std::move(mlp));
  const Parallel parallel = parallelize(model, Mesh(world(), {}), {.dtype = DType::f64, .zero = level});
  nn::Optimizer optimizer(model.parameters(), {.kind = nn::OptimizerKind::sgd});
  for (Index step = 0; step < 2; ++step)
    nn::train_step(model, optimizer, my_share(global_batch(step)),
                   {.microbatches = 2, .lr = 0.1, .step = step}, parallel.exchange);
  std::vector<Tensor> mine;
  for (const nn::ParameterPtr& p : model.parameters()) {
    const plan::Range rows = plan::share(p->global_shape[0], world().size(), world().rank());
    mine.push_back(level == 0 ? p->owned_value.slice(rows.begin, rows.end()) : p->owned_value);
  }
  return mine;
}

TEST_P(Zero, ParametersThatARankDoesNotUseCountAsZero) {
  const std::vector<Tensor> all = branching_run(0), mine = branching_run(GetParam());
  for (std::size_t i = 0; i < all.size(); ++i)
    EXPECT_LT(testing::relative_error(mine[i], all[i]), 1e-12) << i;
}

TEST_P(Zero, TrafficMatchesFormula) {
  constexpr Index kMicrobatches = 3;
  Trained run({.zero = GetParam(), .bucket_bytes = 3000, .collectives = {.algorithm = Algorithm::ring}});
  const Comm gradients = run.mesh.axis("dp").comm("gradients"),
             values = run.mesh.axis("dp").comm("parameters");
  run.step(my_share(global_batch(0)), {.microbatches = kMicrobatches});
  const Index others = world().size() - 1, all = nn::count_elements(run.model.parameters());
  Index kept = 0;  // from forward to backward: the ends and the last block
  for (const nn::ParameterPtr& p : run.model.parameters())
    if (!p->name.starts_with("blocks.") || p->name.starts_with("blocks.4.")) kept += p->used.shape.numel();

  const Index reduced = all * others * (GetParam() >= 2 ? kMicrobatches : 1);
  const Index gathered = GetParam() == 3 ? (2 * all - kept) * others * kMicrobatches : all * others;
  EXPECT_EQ(sum(world(), gradients.counter(Kind::reduce_scatter).bytes_sent), 4 * reduced);
  EXPECT_EQ(sum(world(), values.counter(Kind::all_gather).bytes_sent), 4 * gathered);
  EXPECT_EQ(gradients.counter().bytes_sent, gradients.counter(Kind::reduce_scatter).bytes_sent);
  EXPECT_EQ(values.counter().bytes_sent, values.counter(Kind::all_gather).bytes_sent);
}

// Each shard group reduces and gathers by itself; across groups each rank sums its own rows, once per step.
TEST_P(Zero, HybridTrafficMatchesFormula) {
  if (world().size() % 2 != 0 || world().size() == 2) GTEST_SKIP() << "no two groups of two";
  const Index groups = world().size() / 2;
  Trained run({.zero = GetParam(), .collectives = {.algorithm = Algorithm::ring}}, {}, {.shard = 2});
  const Comm within = run.mesh.axis("shard").comm("gradients"),
             across = run.mesh.axis("replicate").comm("gradients");
  run.step(my_share(global_batch(0)), {.microbatches = 2});
  const Index all = nn::count_elements(run.model.parameters());
  EXPECT_EQ(sum(world(), within.counter(Kind::reduce_scatter).bytes_sent),
            4 * all * groups * (GetParam() >= 2 ? 2 : 1));
  EXPECT_EQ(sum(world(), across.counter(Kind::all_reduce).bytes_sent), 4 * 2 * all * (groups - 1));
}

TEST(ZeroLayouts, RejectsImpossibleShape) {
  const auto error = [](ParallelOptions options, Degrees degrees) {
    nn::Transformer model(tiny(false));
    return testing::error_of([&] { parallelize(model, Mesh(world(), degrees), options); });
  };
  EXPECT_NE(error({.zero = 4}, {}).find("zero is 4, expected 0 to 3"), std::string::npos);
  if (world().size() == 1)
    EXPECT_NE(error({.zero = 1}, {}).find("one rank to share"), std::string::npos);
  else
    EXPECT_NE(error({.zero = 0}, {.shard = 1}).find("nothing to shard"), std::string::npos);
  EXPECT_NE(error({.zero = 1}, {.shard = world().size() + 1}).find("does not divide"), std::string::npos);
}

// What verify relies on to fail loudly.
TEST(ShardingProblem, NamesWhatIsNotSharded) {
  if (world().size() == 1) return;
  Trained plain({});
  const nn::Parameters parameters = plain.model.parameters();
  EXPECT_NE(
      sharding_problem(parameters, 1, world().size(), world().rank()).find("this rank owns 37, expected"),
      std::string::npos);
  Trained level2({.zero = 2});
  EXPECT_NE(sharding_problem(level2.model.parameters(), 3, world().size(), world().rank())
                .find("all of it is here"),
            std::string::npos);
}

TEST(Compare, NamesTheWorstParameter) {
  const EqualityCase what = {.config = tiny(false)};
  const Trace wanted = reference(what, DType::f64);
  const nn::Parameters whole = nn::Transformer(what.config).parameters();
  EXPECT_EQ(compare(wanted, whole, wanted, what, world()).worst(), 0);

  Trace got = reference(what, DType::f64);
  for (double& value : got.grads[4].span<double>()) value *= world().rank() == 0 ? 2 : 1;
  got.norms[2] *= 1.5;
  got.initial[1].data<double>()[0] += 1;
  const Errors errors = compare(got, whole, wanted, what, world());
  EXPECT_EQ(errors.worst_parameter, whole[4]->name);
  EXPECT_DOUBLE_EQ(errors.gradient, 1);
  EXPECT_DOUBLE_EQ(errors.norm, 0.5);
  EXPECT_FALSE(errors.initial_weights_equal);
  got.updated[3].data<double>()[0] = std::nan("");
  EXPECT_FALSE(compare(got, whole, wanted, what, world()).worst() < 1e300);
}

}  // namespace
}  // namespace tessera::dist
