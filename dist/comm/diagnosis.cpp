#include "dist/comm/diagnosis.h"

#include "dist/comm/comm_internal.h"
#include "dist/comm/progress.h"
#include "dist/comm/watchdog_internal.h"
#include "tensor/check.h"

namespace tessera::dist {

void diagnose(const Comm& world, const Diagnosis& diagnosis) {
  check(diagnosis.watchdog_s >= 0, "watchdog", "got ", diagnosis.watchdog_s, " s, expected 0 (off) or more");
  Progress& progress = world.progress();
  if (diagnosis.watchdog_s > 0 && world.size() > 1) {
    MPI_Comm notices = duplicate_mpi(world.state().mpi, progress);
    progress.set_watchdog(std::make_unique<Watchdog>(notices, diagnosis.watchdog_s));
  }
  progress.set_checked(diagnosis.check_collectives);
}

}  // namespace tessera::dist
