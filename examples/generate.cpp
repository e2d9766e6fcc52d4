// Continues a prompt with a trained model, token by token.

#include "nn/generate.h"

#include <fmt/format.h>

#include <cstdio>

#include "examples/cli.h"
#include "examples/program.h"
#include "nn/checkpoint.h"
#include "tensor/context.h"

namespace tessera {
namespace {

std::vector<std::int32_t> bytes_of_text(const std::string& text) {
  std::vector<std::int32_t> tokens;
  for (const char c : text) tokens.push_back(static_cast<unsigned char>(c));
  return tokens;
}

/// A byte as it is; a token of another vocabulary as its number.
void print_token(std::int32_t token, bool bytes) {
  if (bytes)
    std::putchar(token);
  else
    fmt::print(" {}", token);
  std::fflush(stdout);
}

int run(const GenerateOptions& options) {
  context().threads = options.threads;
  const nn::Checkpoint checkpoint(options.checkpoint);
  nn::Transformer model(checkpoint.info().config);
  model.materialize(0, DType::f32);
  checkpoint.load(model.parameters());

  const bool bytes = model.config().vocab == 256;
  fmt::print("{}", options.prompt);
  nn::generate(model, bytes_of_text(options.prompt), options.sampling,
               [&](std::int32_t token) { print_token(token, bytes); });
  fmt::print("\n");
  return 0;
}

}  // namespace
}  // namespace tessera

int main(int argc, char** argv) {
  tessera::GenerateOptions options;
  return tessera::run_program(
      argc, argv, {"generate", "Continues a prompt with a model that train saved."},
      [&](CLI::App& app) { add_flags(app, options); }, [&] { return tessera::run(options); });
}
