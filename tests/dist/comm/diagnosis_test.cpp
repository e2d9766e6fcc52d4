// The checked mode where all is well; how jobs end where it is not is for launch_test.sh.

#include "dist/comm/diagnosis.h"

#include <memory>

#include "dist/comm/collectives.h"
#include "dist/comm/progress.h"
#include "tests/dist/comm/reason.h"
#include "tests/dist/comm/values.h"
#include "tests/dist/mpi_test.h"

namespace tessera::dist {
namespace {

class Checked : public testing::Test {
 protected:
  Checked() { world().progress().set_checked(true); }
  ~Checked() override { world().progress().set_checked(false); }
};

TEST_F(Checked, ChangesNoResultAndCountsNoMessage) {
  const Comm comm = duplicate(world(), {"world", "checked"});
  for (const bool checked : {false, true}) {
    world().progress().set_checked(checked);
    std::vector<double> x = values<double>(world().rank(), 1000);
    const Counter before = comm.counter();
    all_reduce(comm, x, {.algorithm = Algorithm::ring});
    EXPECT_EQ(x, sums_of_values<double>(world().size(), 1000));
    EXPECT_EQ(comm.counter().messages_sent - before.messages_sent, 2 * (world().size() - 1));
    EXPECT_EQ(comm.counter().calls - before.calls, 1);
  }
}

TEST_F(Checked, LetsCollectivesBeginInAnyOrderOnDifferentCommunicators) {
  const Comm a = duplicate(world(), {"world", "a"}), b = duplicate(world(), {"world", "b"});
  const bool odd = world().rank() % 2 == 1;
  std::vector<Index> x = values<Index>(world().rank(), 100), y = x;
  const Work first = all_reduce_async(odd ? a : b, x), second = all_reduce_async(odd ? b : a, y);
  second.wait();
  first.wait();
  EXPECT_EQ(x, sums_of_values<Index>(world().size(), 100));
  EXPECT_EQ(y, x);
}

TEST(Watchdog, RefusesTimesThatCannotBe) {
  EXPECT_EQ(reason([] { diagnose(world(), {.watchdog_s = -1}); }),
            "[watchdog] got -1 s, expected 0 (off) or more");
}

}  // namespace
}  // namespace tessera::dist
