// Answers whether a model fits, whether it is compute-bound, and what to change: before anything runs.

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "dist/plan/query.h"
#include "examples/cli.h"
#include "examples/files.h"
#include "examples/plan_report.h"
#include "examples/plan_request.h"
#include "examples/plan_text.h"
#include "examples/program.h"

namespace tessera {
namespace {

int run(const PlanOptions& options) {
  check_writable_file("--json", options.json);
  check_writable_file("--report", options.report);
  const nlohmann::json request = plan_request(options), result = plan::query(request);
  if (result.contains("error")) throw std::invalid_argument(result["error"].get<std::string>());
  if (options.command == "query") {
    fmt::print("{}\n", result.dump(1));
    return 0;
  }
  fmt::print("{}", plan_text(options.command, result["answer"]));
  if (!options.json.empty()) write_file(options.json, result.dump(1) + "\n");
  if (!options.report.empty()) write_file(options.report, plan_report(request, result));
  return 0;
}

}  // namespace
}  // namespace tessera

int main(int argc, char** argv) {
  tessera::PlanOptions options;
  return tessera::run_program(
      argc, argv, {"plan", "Predicts whether a model fits, what bounds it, and what to change."},
      [&](CLI::App& app) { add_flags(app, options); }, [&] { return tessera::run(options); });
}
