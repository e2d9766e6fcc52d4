#include "examples/program.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <new>
#include <optional>
#include <stdexcept>

#include "dist/comm/collectives.h"
#include "tensor/context.h"

namespace tessera {
namespace {

std::string parse_failure(const CLI::App& app, const ProgramInfo& info, const CLI::ParseError& error) {
  const std::vector<std::string> strays = app.remaining(true);
  const std::string what = strays.empty() ? error.what() : "got \"" + strays.front() + "\"";
  return what + ", expected what " + info.name + " --help lists";
}

/// The exit status if that was all: --help and --version, which only `speaks` print.
std::optional<int> parse(CLI::App& app, const ProgramInfo& info, const AddFlags& add_flags, int argc,
                         char** argv, bool speaks) {
  app.name(info.name);
  app.description(info.purpose);
  app.get_formatter()->column_width(38);
  app.set_version_flag("--version", std::string(info.name) + " of Tessera " TESSERA_VERSION);
  add_flags(app);
  try {
    app.parse(argc, argv);
    return std::nullopt;
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() != 0) throw std::invalid_argument(parse_failure(app, info, error));
    if (speaks) app.exit(error);
    return 0;
  }
}

/// "name: reason" on one line.
std::string line(const ProgramInfo& info, std::string reason) {
  std::ranges::replace(reason, '\n', ' ');
  return std::string(info.name) + ": " + reason;
}

/// Runs body; its exceptions leave with their text as the user is to read it.
int explain(const ProgramInfo& info, const std::function<int()>& body) {
  try {
    return body();
  } catch (const std::invalid_argument& error) {
    throw std::invalid_argument(line(info, error.what()));
  } catch (const std::bad_alloc&) {
    throw std::runtime_error(
        line(info, "out of memory; a smaller --batch, more --microbatches or --recompute full need less"));
  } catch (const std::exception& error) {
    throw std::runtime_error(line(info, error.what()));
  }
}

int fail(const char* text, int status) {
  std::cout.flush();
  std::cerr << text << std::endl;
  return status;
}

}  // namespace

int run_program(int argc, char** argv, const ProgramInfo& info, const AddFlags& add_flags,
                const std::function<int()>& body) {
  CLI::App app;
  const auto run = [&] {
    const std::optional<int> done = parse(app, info, add_flags, argc, argv, true);
    return done ? *done : body();
  };
  try {
    return explain(info, run);
  } catch (const std::invalid_argument& error) {
    return fail(error.what(), 2);
  } catch (const std::exception& error) {
    return fail(error.what(), 1);
  }
}

int run_on_ranks(int argc, char** argv, const ProgramInfo& info, const AddFlags& add_flags,
                 const std::function<int(dist::Comm& world)>& body) {
  return dist::launch(argc, argv, [&](dist::Comm& world) {
    CLI::App app;
    return explain(info, [&] {
      const std::optional<int> done = parse(app, info, add_flags, argc, argv, world.rank() == 0);
      return done ? *done : body(world);
    });
  });
}

void on_first_rank(const dist::Comm& world, const std::function<void()>& body) {
  std::string reason;
  if (world.rank() == 0) {
    try {
      body();
    } catch (const std::invalid_argument& error) {
      reason = error.what();
    }
  }
  std::vector<std::int32_t> text(static_cast<std::size_t>(dist::max(world, std::ssize(reason))));
  std::ranges::copy(reason, text.begin());
  dist::broadcast(world, text, 0);
  reason.assign(text.begin(), text.end());
  if (!reason.empty()) throw std::invalid_argument(reason);
}

void use_threads(const std::optional<int>& threads, const dist::Comm& world) {
  context().threads = threads.value_or(std::max(1, world.cores_on_node() / world.ranks_on_node()));
}

}  // namespace tessera
