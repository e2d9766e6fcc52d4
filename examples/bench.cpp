// Measures a training step, the matrix products it is made of, how it overlaps with communication, or
// collectives.

#include "examples/bench_collectives.h"
#include "examples/bench_gemm.h"
#include "examples/bench_overlap.h"
#include "examples/bench_step.h"
#include "examples/cli.h"
#include "examples/program.h"
#include "tensor/check.h"

namespace tessera {
namespace {

int run(const BenchOptions& options, const dist::Comm& world) {
  using enum BenchOptions::Kind;
  if (options.kind == collectives) {
    bench_collectives(options.collectives, world);
    return 0;
  }
  use_threads(options.threads, world);
  if (options.kind == overlap) {
    bench_overlap(options, world);
    return 0;
  }
  check(world.size() == 1, "bench", "step and gemm measure one process, but there are ", world.size(),
        " ranks");
  options.kind == step ? bench_step(options) : bench_gemm(options);
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
