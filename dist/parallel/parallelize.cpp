#include "dist/parallel/parallelize.h"

#include "dist/parallel/data_parallel.h"
#include "dist/parallel/gradients.h"

namespace tessera::dist {
namespace {

void check_possible(const Degrees& degrees) {
  const std::pair<const char*, int> axes[] = {
      {"pp", degrees.pp}, {"cp", degrees.cp}, {"tp", degrees.tp}, {"ep", degrees.ep}};
  for (const auto& [name, degree] : axes) {
    check(degree == 1, "layout", name, " is ", degree, " in ", to_string(degrees),
          "; so far only dp may exceed 1");
  }
  check(!hybrid(degrees), "layout", "shard is ", degrees.shard, " in ", to_string(degrees),
        "; so far nothing is sharded over part of dp");
}

/// Batches are dealt over dp, so counts and losses are summed there.
nn::StepExchange exchange_over(const Mesh& mesh, PlacementTable table, const CollectiveOptions& options) {
  const auto finaliser = std::make_shared<GradientFinaliser>(mesh, std::move(table), options);
  const Comm data = mesh.axis("dp").comm("loss");
  return {.total_count = [data](Index count) { return sum(data, count); },
          .total_loss = [data](double loss) { return sum(data, loss); },
          .finish_gradients = [finaliser](const nn::Parameters&) { finaliser->finish(); },
          .gradient_norm = [finaliser](const nn::Parameters&) { return finaliser->norm(); }};
}

}  // namespace

Parallel parallelize(nn::Transformer& model, const Mesh& mesh, const ParallelOptions& options) {
  check_possible(mesh.degrees());
  PlacementTable table(model.parameters(), mesh.grid());
  data_parallel(table, mesh.axis("dp"));
  table.check_complete();
  model.materialize(options.seed, options.dtype, options.std_override);
  LayoutReport report = layout_report(model, table);
  return {exchange_over(mesh, std::move(table), options.collectives), std::move(report)};
}

}  // namespace tessera::dist
