#pragma once

#include <functional>
#include <optional>

#include "dist/comm/launch.h"

namespace CLI {
class App;
}

namespace tessera {

/// What a program says about itself in --help.
struct ProgramInfo {
  const char *name, *purpose;
};

using AddFlags = std::function<void(CLI::App&)>;

/// Parses the flags that add_flags(app) declares, then runs `body`. Every failure is one line on stderr,
/// "name: reason".
/// @return what main returns: body's result; 0 for --help and --version; 2 for std::invalid_argument and what
///         cannot be parsed; 1 for any other exception.
int run_program(int argc, char** argv, const ProgramInfo& info, const AddFlags& add_flags,
                const std::function<int()>& body);

/// The same on every rank that mpirun starts, or on one without it: see dist::launch for how ranks that fail
/// end together. What all ranks refuse alike is one line, not one per rank.
int run_on_ranks(int argc, char** argv, const ProgramInfo& info, const AddFlags& add_flags,
                 const std::function<int(dist::Comm& world)>& body);

/// Runs `body` on rank 0; if it throws std::invalid_argument there, all ranks throw the same. Collective.
void on_first_rank(const dist::Comm& world, const std::function<void()>& body);

/// How many threads this rank computes with: those asked for, or its share of the node's cores.
void use_threads(const std::optional<int>& threads, const dist::Comm& world);

inline constexpr int kInterrupted = 130;  ///< a program's exit status after SIGINT

}  // namespace tessera
