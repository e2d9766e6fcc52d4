// Accounts of scripted steps, whose seconds are known.

#include "dist/trace/accountant.h"

#include <chrono>
#include <cmath>
#include <sstream>
#include <thread>

#include "dist/comm/collectives.h"
#include "dist/comm/progress.h"
#include "dist/comm/work.h"
#include "dist/trace/chrome_trace.h"
#include "dist/trace/gather.h"
#include "tests/dist/mpi_test.h"
#include "tests/dist/trace/timeline.h"

namespace tessera::dist {
namespace {

constexpr int kSteps = 9;  // enough for a median to be one of an undisturbed step
constexpr double kSleep_s = 0.05;
constexpr double kTolerance_s = 0.005;

void sleep_s(double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }

/// An op that takes this long and no processor. It polls at its end, as all do.
void sleeping_op(double seconds) {
  const OpScope scope({"sleep"});
  sleep_s(seconds);
}

bool is_last() { return world().rank() == world().size() - 1; }

/// Accounts of steps that all ranks begin together.
template <class Body>
std::vector<StepAccount> accounts_of(Accountant& accountant, Body&& body) {
  for (int step = 0; step < kSteps; ++step) {
    barrier(world());
    {
      const SpanScope span(accountant.recorder(), SpanKind::step, "step", step);
      body();
    }
    accountant.step_done();
  }
  accountant.settle();
  return accountant.steps();
}

TEST(Accountant, OthersWaitForTheRankThatSleeps) {
  if (world().size() == 1) return;
  std::vector<float> x(1000);
  Accountant accountant(world());
  const StepParts parts = median_parts(accounts_of(accountant, [&] {
    if (is_last()) sleeping_op(kSleep_s);
    all_reduce(world(), x);
  }));
  EXPECT_NEAR(parts.wait_s, is_last() ? 0 : kSleep_s, kTolerance_s);
  EXPECT_NEAR(parts.compute_s, is_last() ? kSleep_s : 0, kTolerance_s);
  EXPECT_LT(parts.exposed_comm_s, kTolerance_s);
}

// Counting a slow rank's 50 ms as the network's would make it a hundredth. Compared with steps in which all
// ranks sleep: after 50 ms caches are cold and cores asleep, which costs half the bandwidth by itself.
TEST(Accountant, BandwidthIsThatOfTheNetworkWhateverARankSleeps) {
  if (world().size() == 1) return;
  constexpr int kTries = 10;  // on cores that many share one measurement may be off by as much as the bound
  std::vector<float> x(850'000);
  const auto busbw = [&](bool all_sleep) {
    Accountant accountant(world());
    accounts_of(accountant, [&] {
      if (all_sleep || is_last()) sleeping_op(kSleep_s);
      all_reduce(world(), x, {.algorithm = Algorithm::ring});
    });
    for (const CommAccount& account : accountant.comm())
      if (account.op == "all_reduce") return account.busbw();
    return 0.0;
  };
  std::vector<double> ratios;
  for (int i = 0; i < kTries; ++i) {
    ratios.push_back(max(world(), busbw(false)) / max(world(), busbw(true)));
    if (std::abs(ratios.back() - 1) <= 0.2) break;
  }
  RecordProperty("ratio", std::to_string(ratios.back()));
  EXPECT_NEAR(ratios.back(), 1, 0.2) << ::testing::PrintToString(ratios);
}

TEST(Accountant, HiddenAndExposedAreWhatWasUnderWay) {
  if (world().size() == 1) return;
  std::vector<float> x(1000);
  std::vector<double> under_way_s;  // measured from outside: all ranks begin together, none waits for another
  Accountant accountant(world());
  const StepParts parts = median_parts(accounts_of(accountant, [&] {
    const double begin_s = now_s();
    const Work work = all_reduce_async(world(), x);
    for (int i = 0; i < 4; ++i) sleeping_op(kSleep_s / 4);
    sleep_s(kSleep_s / 2);
    work.wait();
    under_way_s.push_back(now_s() - begin_s);
    sleeping_op(kSleep_s / 4);
  }));
  EXPECT_NEAR(parts.compute_s, 1.25 * kSleep_s, kTolerance_s);
  EXPECT_NEAR(parts.other_s, 0.5 * kSleep_s, kTolerance_s);
  // Ops poll at both ends, so the sum has come when a few of them are over, if not all.
  EXPECT_GT(parts.hidden_comm_s, 0);
  EXPECT_LT(parts.hidden_comm_s + parts.exposed_comm_s, median(under_way_s) + kTolerance_s);
}

/// One poll after a long sleep ends it: the time under way is the sleep's.
TEST(Accountant, HiddenIsTheTimeOfTheOpThatHidIt) {
  if (world().size() != 2) return;
  std::vector<float> x(10);
  Accountant accountant(world());
  const StepParts parts = median_parts(accounts_of(accountant, [&] {
    // Two ranks, recursive doubling: what the other has sent while both sleep is added after the sleep.
    const Work work = all_reduce_async(world(), x, {.algorithm = Algorithm::recursive_doubling});
    sleep_s(kSleep_s);
    work.wait();
  }));
  EXPECT_NEAR(parts.hidden_comm_s, kSleep_s, kTolerance_s);
  EXPECT_NEAR(parts.hidden_comm_s + parts.exposed_comm_s, kSleep_s, kTolerance_s);
  EXPECT_NEAR(parts.other_s, kSleep_s, kTolerance_s);
}

TEST(Accountant, AMessageArrivesWhenItsSenderBegins) {
  if (world().size() == 1) return;
  std::vector<float> x(10);
  const int last = world().size() - 1;
  Accountant accountant(world());
  const StepParts parts = median_parts(accounts_of(accountant, [&] {
    if (world().rank() == last) {
      sleeping_op(kSleep_s);
      for (int rank = 0; rank < last; ++rank) send_async(world(), x, rank, 3).wait();
    } else {
      receive_async(world(), x, last, 3).wait();
    }
  }));
  EXPECT_NEAR(parts.wait_s, is_last() ? 0 : kSleep_s, kTolerance_s);
}

TEST(Accountant, SettlesEverySoManySteps) {
  Accountant accountant(world());
  std::vector<float> x(10);
  for (int step = 0; step < 2 * Accountant::kStepsPerSettlement + 5; ++step) {
    {
      const SpanScope span(accountant.recorder(), SpanKind::step, "step", step);
      all_reduce(world(), x);
    }
    accountant.step_done();
  }
  EXPECT_EQ(std::ssize(accountant.steps()), 2 * Accountant::kStepsPerSettlement);
  accountant.settle();
  ASSERT_EQ(std::ssize(accountant.steps()), 2 * Accountant::kStepsPerSettlement + 5);
  double end_s = 0;
  for (Index step = 0; const StepAccount& account : accountant.steps()) {
    EXPECT_EQ(account.step, step++);
    EXPECT_GE(account.begin_s, end_s);
    end_s = account.begin_s + account.parts.step_s;
  }
}

TEST(Accountant, OffRecordsNothing) {
  { const Accountant accountant(world()); }
  EXPECT_EQ(world().progress().recorder(), nullptr);
  EXPECT_EQ(context().observer, nullptr);
}

TEST(Accountant, TimelinesOfAllRanksFitTogether) {
  const int ranks = world().size();
  Accountant accountant(world(), 2);
  std::vector<float> x(200'000);
  accounts_of(accountant, [&] {
    const Work first = all_reduce_async(world(), x, {.algorithm = Algorithm::ring});
    std::vector<float> y(100);
    const Work second = all_reduce_async(world(), y);
    sleeping_op(1e-3);
    second.wait();
    first.wait();
    if (ranks > 1 && world().rank() == 0) send_async(world(), y, 1).wait();
    if (world().rank() == 1) receive_async(world(), y, 0).wait();
  });
  const std::vector<std::string> events = gather_texts(world(), accountant.timeline());
  if (world().rank() > 0) return;
  std::vector<std::string> names;
  for (int rank = 0; rank < ranks; ++rank) names.push_back("rank " + std::to_string(rank));
  std::ostringstream out;
  write_chrome_trace(out, events, names);
  const TimelineFacts facts = check_timeline(nlohmann::json::parse(out.str()), ranks);
  EXPECT_EQ(facts.slices.at("step"), 2 * ranks) << "as many as were asked for";
  if (ranks > 1) {
    EXPECT_GT(facts.arrows, 2 * ranks);
    EXPECT_GE(facts.slices.at("operation"), 2 * 2 * ranks);
  }
}

TEST(Clocks, OfOneNodeAreOne) {
  const ClockOffset offset = compare_clocks(world());
  EXPECT_EQ(offset.offset_s, 0);
  EXPECT_EQ(offset.error_s, 0);
}

TEST(Clocks, OfSeveralNodesAreComparedByMessages) {
  // One machine, one clock: whatever is measured may be off by no more than it says.
  std::vector<int> nodes;
  for (int rank = 0; rank < world().size(); ++rank) nodes.push_back(rank % 2);
  const Comm comm = duplicate_as_if_on(nodes, world(), {"world", "clocks"});
  const ClockOffset offset = compare_clocks(comm);
  EXPECT_LE(std::abs(offset.offset_s), offset.error_s);
  EXPECT_EQ(offset.error_s > 0, world().rank() % 2 == 1);
}

}  // namespace
}  // namespace tessera::dist
