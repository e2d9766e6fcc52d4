#include "dist/parallel/parallelize.h"

#include "dist/parallel/data_parallel.h"
#include "dist/parallel/fully_sharded.h"
#include "dist/parallel/gradients.h"
#include "dist/parallel/zero.h"

namespace tessera::dist {
namespace {

void check_possible(const Degrees& degrees) {
  const std::pair<const char*, int> axes[] = {
      {"pp", degrees.pp}, {"cp", degrees.cp}, {"tp", degrees.tp}, {"ep", degrees.ep}};
  for (const auto& [name, degree] : axes) {
    check(degree == 1, "layout", name, " is ", degree, " in ", to_string(degrees),
          "; so far only dp may exceed 1");
  }
}

/// At start-up, not in the first backward.
void check_algorithm(Algorithm algorithm, int zero) {
  for (const Kind kind : {Kind::all_reduce, Kind::reduce_scatter, Kind::all_gather}) {
    if (algorithm == Algorithm::automatic || (kind != Kind::all_reduce && zero == 0)) continue;
    check(plan::has_algorithm(kind, algorithm), to_string(kind), "has no algorithm ", to_string(algorithm),
          ", expected ", plan::algorithm_names(kind));
  }
}

/// Packed pieces, and those that wait to be added, are memory that ZeRO is to save: no more of them while a
/// rank waits than while it computes.
CollectiveOptions collectives_of(const ParallelOptions& options, int level) {
  CollectiveOptions collectives = options.collectives;
  if (level > 0) collectives.cutting.awaited_bytes = collectives.cutting.in_flight_bytes;
  return collectives;
}

/// A shard size of 1 is data parallelism, if it is asked for.
void check_zero(int zero, const Degrees& d) {
  check(zero >= 0 && zero < kZeroLevels, "layout", "zero is ", zero, ", expected 0 to ", kZeroLevels - 1);
  check(zero == 0 || d.dp > 1, "layout", "zero is ", zero, " in ", to_string(d),
        ": there is one rank to share what it shards");
  check(zero > 0 || d.shard == d.dp, "layout", "shard is ", d.shard, " in ", to_string(d),
        " but zero is 0: there is nothing to shard");
}

/// What communicates in a step, and lives as long as steps are taken.
struct Strategies {
  Comm data, shard;  // shard is undefined where nothing is to be gathered after the update
  nn::Parameters parameters;
  CollectiveOptions collectives;
  std::unique_ptr<FullySharded> fully_sharded{};
  std::unique_ptr<GradientFinaliser> gradients{};

  void begin_microbatch(bool last) const {
    if (fully_sharded) fully_sharded->release_all();
    gradients->begin_microbatch(last);
  }
  void finish_gradients() const {
    if (fully_sharded) fully_sharded->release_all();
    gradients->finish();
  }
  void share_update() const {
    if (shard.defined()) gather_values(parameters, shard, collectives);
  }
};

nn::TotalCount start_sum(const Comm& comm, Index count) {
  const auto value = std::make_shared<Index>(count);
  const Work work = all_reduce_async(comm, std::span<Index>(value.get(), 1));
  return [value, work] {
    work.wait();
    return *value;
  };
}

/// Batches are dealt over dp, so counts and losses are summed there.
nn::StepExchange exchange_of(const std::shared_ptr<const Strategies>& all) {
  return {.total_count = [all](Index count) { return start_sum(all->data, count); },
          .total_loss = [all](double loss) { return sum(all->data, loss); },
          .begin_microbatch = [all](bool last) { all->begin_microbatch(last); },
          .finish_gradients = [all](const nn::Parameters&) { all->finish_gradients(); },
          .gradient_norm = [all](const nn::Parameters&) { return all->gradients->norm(); },
          .share_update = [all] { all->share_update(); }};
}

}  // namespace

Parallel parallelize(nn::Transformer& model, const Mesh& mesh, const ParallelOptions& options) {
  check_possible(mesh.degrees());
  check_zero(options.zero, mesh.degrees());
  check_algorithm(options.collectives.algorithm, options.zero);
  const Axis replicate = mesh.axis("replicate");
  const Axis shard = mesh.product(mesh.axis("shard").atomic_axes());  // "dp" where that is all of it
  const int level = shard.size() > 1 ? options.zero : 0;
  const CollectiveOptions collectives = collectives_of(options, level);

  PlacementTable table(model.parameters(), mesh.grid());
  data_parallel(table, replicate);
  if (level > 0)
    zero(table, shard, level);
  else
    data_parallel(table, shard);
  table.check_complete();
  model.materialize(options.seed, options.dtype, options.std_override);
  LayoutReport report = layout_report(model, table, mesh.grid(), mesh.world().rank());

  auto all = std::make_shared<Strategies>(
      Strategies{mesh.axis("dp").comm("loss"), {}, model.parameters(), collectives});
  if (level == 1 || level == 2) all->shard = shard.comm("parameters");
  if (level == 3)
    all->fully_sharded = std::make_unique<FullySharded>(model, shard, collectives, options.overlap);
  Buckets buckets =
      level == 3 ? block_buckets(model) : fill_buckets(model, options.bucket_bytes, options.dtype);
  all->gradients = std::make_unique<GradientFinaliser>(
      mesh, std::move(table), std::move(buckets),
      GradientOptions{
          .collectives = collectives, .every_microbatch = level >= 2, .overlap = options.overlap});
  return {exchange_of(all), std::move(report)};
}

}  // namespace tessera::dist
