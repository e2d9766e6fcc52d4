#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>

#include "dist/comm/launcher_internal.h"
#include "dist/comm/mpi_internal.h"

namespace tessera::dist {
namespace {

// What a launcher tells the processes that it starts.
struct Launcher {
  const char *name, *size, *rank;
};
constexpr std::array kLaunchers = {
    Launcher{"Open MPI's mpirun", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"},
    Launcher{"MPICH's mpirun", "PMI_SIZE", "PMI_RANK"},
    Launcher{"MVAPICH's mpirun", "MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_RANK"},
    Launcher{"srun", "SLURM_STEP_NUM_TASKS", "SLURM_PROCID"},
};

int number(const char* variable) {
  const char* text = std::getenv(variable);
  return text == nullptr ? 0 : std::atoi(text);
}

// "MPICH Version:	4.0.2", "Open MPI v4.1.4": the first line, or the part before a comma.
std::string mpi_version() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
  int length = 0;
  require_success(MPI_Get_library_version(text.data(), &length), "MPI_Get_library_version");
  std::string version(text.data());
  version.resize(std::min(version.size(), version.find_first_of(",\n")));
  for (std::size_t i; (i = version.find('\t')) != std::string::npos;) version[i] = ' ';
  return version;
}

}  // namespace

LauncherFault launcher_fault(int ranks) {
  if (ranks > 1) return {};
  const Launcher* other = nullptr;
  for (const Launcher& launcher : kLaunchers) {
    if (number(launcher.size) == 1) return {};  // the innermost launcher, whatever was around it
    if (number(launcher.size) > 1) other = &launcher;
  }
  if (other == nullptr) return {};
  return {"started by " + std::string(other->name) + " as one of " + std::to_string(number(other->size)) +
              " processes, but built against another MPI (" + mpi_version() +
              "), which sees 1; start it with " TESSERA_MPIRUN,
          number(other->rank) == 0};
}

}  // namespace tessera::dist
