// More bytes than an int counts, for real: messages are cut, offsets are wide. Takes memory and time, so it
// runs when asked for: --gtest_also_run_disabled_tests --gtest_filter=Large.*

#include <cstdint>
#include <cstdio>
#include <fstream>
#include <string>

#include "dist/comm/collectives.h"
#include "dist/trace/events.h"
#include "tests/dist/mpi_test.h"

namespace tessera::dist {
namespace {

constexpr Index kGiB = Index{1} << 30;

// What the system says is to be had without swapping; 0 if it does not say.
Index available_bytes() {
  std::ifstream file("/proc/meminfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("MemAvailable:")) return std::stoll(line.substr(13)) * 1024;
  return 0;
}

// No two positions below 2^32 have the same, as the factor is odd.
std::int32_t value_at(Index position) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(position) * 2654435761U + 1U);
}

TEST(Large, DISABLED_BroadcastsThreeGibibytes) {
  if (world().size() != 2) GTEST_SKIP() << "needs 2 ranks";
  constexpr Index kBytes = 3 * kGiB, kNeeded = 2 * kBytes + kGiB;
  const Index available = -max(world(), -available_bytes());  // the least that any rank sees
  if (available < kNeeded)
    GTEST_SKIP() << "needs " << kNeeded / kGiB << " GiB of memory, and there are " << available / kGiB;

  Tensor x({kBytes / 4}, DType::i32);
  auto* const values = static_cast<std::int32_t*>(x.storage()->data());
  for (Index i = 0; i < x.numel(); ++i) values[i] = world().rank() == 0 ? value_at(i) : ~value_at(i);
  barrier(world());
  const double begin_s = now_s();
  broadcast(world(), x, 0);
  const double time_s = now_s() - begin_s;

  Index num_wrong = 0, first_wrong = -1;
  for (Index i = 0; i < x.numel(); ++i)
    if (values[i] != value_at(i) && num_wrong++ == 0) first_wrong = i;
  EXPECT_EQ(num_wrong, 0) << "the first at " << first_wrong;
  if (world().rank() == 0) std::printf("3 GiB to another rank in %.2f s\n", time_s);
}

}  // namespace
}  // namespace tessera::dist
