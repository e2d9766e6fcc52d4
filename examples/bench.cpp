// Measures a training step, the matrix products it is made of, or collectives.

#include "examples/bench_collectives.h"
#include "examples/bench_gemm.h"
#include "examples/bench_step.h"
#include "examples/cli.h"
#include "examples/program.h"
#include "tensor/check.h"
#include "tensor/context.h"

namespace tessera {
namespace {

int run(const BenchOptions& options, const dist::Comm& world) {
  if (options.kind == BenchOptions::Kind::collectives) {
    bench_collectives(options.collectives, world);
    return 0;
  }
  check(world.size() == 1, "bench", "step and gemm measure one process, but there are ", world.size(),
        " ranks");
  context().threads = options.threads;
  const auto measure = options.kind == BenchOptions::Kind::step ? bench_step : bench_gemm;
  measure(options);
  return 0;
}

}  // namespace
}  // namespace tessera

int main(int argc, char** argv) {
  tessera::BenchOptions options;
  return tessera::run_on_ranks(
      argc, argv, {"bench", "Measures how fast this machine trains."},
      [&](CLI::App& app) { add_flags(app, options); },
      [&](const tessera::dist::Comm& world) { return tessera::run(options, world); });
}
