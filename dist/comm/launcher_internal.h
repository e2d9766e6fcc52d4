#pragma once

#include <string>

namespace tessera::dist {

/// What is wrong if this process is the only rank its MPI knows, yet was started as one of several by another
/// MPI's launcher. Empty if nothing is.
struct LauncherFault {
  std::string text{};
  bool first = false;  ///< of those processes: who should say it
};
LauncherFault launcher_fault(int ranks);

}  // namespace tessera::dist
