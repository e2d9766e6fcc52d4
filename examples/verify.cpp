// Proves layouts equal to one rank: loss, every gradient, the norm and the weights after three steps.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "examples/cli.h"
#include "examples/equality.h"
#include "examples/files.h"
#include "examples/program.h"
#include "tensor/context.h"

namespace tessera {
namespace {

using nlohmann::json;

constexpr DType kDTypes[] = {DType::f64, DType::f32};
constexpr const char* kColumns = "{:<{}}  {:5}  {:>8}  {:>8}  {:>8}  {:>8}  {:>8}  {:4}  {}\n";

std::vector<Layout> asked_layouts(const std::string& text, int ranks) {
  std::vector<Layout> layouts = all_layouts(ranks);
  if (!text.empty()) layouts = {parse_layout(text)};
  for (Layout& layout : layouts) layout.degrees = dist::complete(layout.degrees, ranks);
  return layouts;
}

void print_head(const EqualityCase& what, double single_f32, std::size_t width) {
  const nn::ModelConfig& c = what.config;
  fmt::print("{}: {} layers, dim {}, {} heads, vocabulary {}, {} sequences of {} tokens, dropout {}\n",
             c.name, c.layers, c.dim, c.heads, c.vocab, what.batch, c.context, c.dropout);
  fmt::print("Largest relative errors against one rank in f64; one rank in f32 has {:.1e}.\n\n", single_f32);
  fmt::print(kColumns, "layout", width, "dtype", "loss", "gradient", "norm", "update", "bound", "",
             "worst in");
}

/// What else is wrong than errors.
std::string remarks(const Verdict& v) {
  std::string text = v.errors.worst_parameter;
  if (!v.errors.initial_weights_equal) text += "; initial weights differ";
  if (!v.replicas_equal) text += "; replicas differ";
  if (!v.problem.empty()) text += "; not sharded: " + v.problem;
  return text;
}

void print_row(const Verdict& v, std::size_t width) {
  const auto number = [](double value) { return fmt::format("{:.1e}", value); };
  fmt::print(kColumns, to_string(v.layout), width, to_string(v.dtype), number(v.errors.loss),
             number(v.errors.gradient), number(v.errors.norm), number(v.errors.update), number(v.bound),
             v.pass() ? "PASS" : "FAIL", remarks(v));
  std::fflush(stdout);
}

/// JSON has no infinity.
json number(double value) { return std::isfinite(value) ? json(value) : json(nullptr); }

json to_json(const Verdict& v) {
  return {{"layout", to_string(v.layout)},
          {"dtype", to_string(v.dtype)},
          {"loss_error", number(v.errors.loss)},
          {"worst_gradient_error", number(v.errors.gradient)},
          {"worst_parameter", v.errors.worst_parameter},
          {"norm_error", number(v.errors.norm)},
          {"update_error", number(v.errors.update)},
          {"initial_weights_equal", v.errors.initial_weights_equal},
          {"replicas_equal", v.replicas_equal},
          {"sharding_problem", v.problem},
          {"bound", v.bound},
          {"pass", v.pass()}};
}

json to_json(const EqualityCase& what, const Verifier& verifier, const std::vector<Verdict>& verdicts) {
  json layouts = json::array();
  for (const Verdict& v : verdicts) layouts.push_back(to_json(v));
  return {{"reference",
           {{"model", nn::to_json(what.config)},
            {"batch", what.batch},
            {"seed", what.seed},
            {"losses", verifier.reference().losses},
            {"grad_norms", verifier.reference().norms},
            {"single_rank_f32_error", verifier.single_rank_f32_error()}}},
          {"layouts", layouts}};
}

int run(const VerifyOptions& options, const dist::Comm& world) {
  use_threads(options.threads, world);
  const bool speaks = world.rank() == 0;
  const EqualityCase what = {configure(options.model), options.batch, options.seed};
  const std::vector<Layout> layouts = asked_layouts(options.layout, world.size());
  on_first_rank(world, [&] { check_writable_file("--json", options.json); });
  std::size_t width = 0;
  for (const Layout& layout : layouts) width = std::max(width, to_string(layout).size());

  const Verifier verifier(what, world);
  if (speaks) print_head(what, verifier.single_rank_f32_error(), width);
  std::vector<Verdict> verdicts;
  for (const Layout& layout : layouts) {
    for (const DType dtype : kDTypes) {
      verdicts.push_back(verifier.verify(layout, {.dtype = dtype,
                                                  .bucket_bytes = bytes_of_mb(options.bucket_mb),
                                                  .collectives = {.algorithm = options.algorithm}}));
      if (speaks) print_row(verdicts.back(), width);
    }
  }
  const auto failed = std::ranges::count_if(verdicts, [](const Verdict& v) { return !v.pass(); });
  if (speaks) {
    fmt::print("\n{} of {} pass\n", std::ssize(verdicts) - failed, verdicts.size());
    if (!options.json.empty()) write_file(options.json, to_json(what, verifier, verdicts).dump(1) + "\n");
  }
  return failed > 0 ? 1 : 0;
}

}  // namespace
}  // namespace tessera

int main(int argc, char** argv) {
  tessera::VerifyOptions options;
  return tessera::run_on_ranks(
      argc, argv, {"verify", "Proves that layouts over several ranks compute what one rank does."},
      [&](CLI::App& app) { add_flags(app, options); },
      [&](const tessera::dist::Comm& world) { return tessera::run(options, world); });
}
