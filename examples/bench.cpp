// Measures a training step, or the matrix products it is made of.

#include "examples/bench_gemm.h"
#include "examples/bench_step.h"
#include "examples/cli.h"
#include "examples/program.h"
#include "tensor/context.h"

namespace tessera {
namespace {

int run(const BenchOptions& options) {
  context().threads = options.threads;
  const auto measure = options.kind == BenchOptions::Kind::step ? bench_step : bench_gemm;
  measure(options);
  return 0;
}

}  // namespace
}  // namespace tessera

int main(int argc, char** argv) {
  tessera::BenchOptions options;
  return tessera::run_program(
      argc, argv, {"bench", "Measures how fast this machine trains."},
      [&](CLI::App& app) { add_flags(app, options); }, [&] { return tessera::run(options); });
}
