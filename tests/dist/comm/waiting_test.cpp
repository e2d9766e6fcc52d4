// Whoever waits leaves the processor to others.

#include <gtest/gtest.h>
#include <time.h>

#include "dist/comm/collectives.h"
#include "dist/comm/progress.h"
#include "tests/dist/mpi_test.h"

namespace tessera::dist {
namespace {

double processor_s() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

TEST(Waiting, CostsLittleProcessorTime) {
  if (world().size() == 1) GTEST_SKIP() << "nobody to wait for";
  barrier(world());
  const double begin_s = now_s(), cpu_begin_s = processor_s();
  if (world().rank() == 0) {
    const timespec half{0, 500'000'000};
    nanosleep(&half, nullptr);
  }
  barrier(world());
  const double waited_s = now_s() - begin_s, cpu_s = processor_s() - cpu_begin_s;
  EXPECT_GE(waited_s, 0.4);
  EXPECT_LT(cpu_s, 0.2 * waited_s) << "of " << waited_s << " s of waiting";
  if (world().rank() == 1) RecordProperty("processor_share", std::to_string(cpu_s / waited_s));
}

}  // namespace
}  // namespace tessera::dist
