#include "dist/comm/launch.h"
#include "tests/dist/mpi_test.h"

namespace tessera::dist {
namespace {

const Comm* world_of_test = nullptr;

// Failed assertions throw, and nothing catches them before launch does: the other ranks wait in a collective.
int run_all_tests(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
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
