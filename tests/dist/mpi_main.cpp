#include "dist/comm/faults_internal.h"
#include "dist/comm/launch.h"
#include "dist/comm/progress.h"
#include "tests/dist/mpi_test.h"

namespace tessera::dist {
namespace {

const Comm* world_of_test = nullptr;

// With --faults, a rank's messages are late, its sends synchronous, its memory poisoned: no result
// may change.
void inject_faults() {
  world().progress().set_faults(
      std::make_unique<Faults>(FaultOptions{.poison = true,
                                            .synchronous_sends = true,
                                            .delay_s = 50e-6,
                                            .seed = static_cast<unsigned>(world().rank()) + 1}));
}

// Failed assertions throw, and nothing catches them before launch does: the other ranks wait in a collective.
int run_all_tests(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (argc > 1 && argv[1] == std::string("--faults")) inject_faults();
  GTEST_FLAG_SET(throw_on_failure, true);
  GTEST_FLAG_SET(catch_exceptions, false);
  testing::TestEventListeners& listeners = testing::UnitTest::GetInstance()->listeners();
  if (world().rank() > 0) delete listeners.Release(listeners.default_result_printer());
  return RUN_ALL_TESTS();
}

}  // namespace

const Comm& world() { return *world_of_test; }

}  // namespace tessera::dist

int main(int argc, char** argv) {
  return tessera::dist::launch(argc, argv, [&](tessera::dist::Comm& world) {
    tessera::dist::world_of_test = &world;
    return tessera::dist::run_all_tests(argc, argv);
  });
}
