// Pieces of rows on one thread and more: each row once, ticks and exceptions to the caller.

#include "tensor/threads.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

namespace tessera {
namespace {

class Threads : public ::testing::TestWithParam<int> {
 protected:
  Scoped<int> threads_{context().threads, GetParam()};
};
INSTANTIATE_TEST_SUITE_P(Of, Threads, ::testing::Values(1, 2, 3, 4));

TEST_P(Threads, CoverEachRowOnce) {
  for (const Index rows : {0, 1, 7, 100}) {
    for (const Index piece : {1, 3, 100, 1000}) {
      std::vector<std::atomic<int>> visits(static_cast<std::size_t>(rows));
      parallel_pieces(rows, piece, [&](Index begin, Index end) {
        EXPECT_LT(begin, end);
        EXPECT_LE(end - begin, piece);
        for (Index i = begin; i < end; ++i) ++visits[i];
      });
      EXPECT_TRUE(std::ranges::all_of(visits, [](const auto& count) { return count == 1; }))
          << rows << " by " << piece;
    }
  }
}

TEST_P(Threads, NumberThemselvesBelowTheirCount) {
  std::atomic<int> largest = 0;
  parallel_pieces(1000, 1, [&](Index, Index) {
    if (const int mine = current_thread(); mine > largest) largest = mine;
  });
  EXPECT_LT(largest, GetParam());
}

/// Many pieces, of which the calling thread gets at least one: others wait for it.
void run_pieces() {
  std::atomic<bool> caller_came = false;
  const auto caller = std::this_thread::get_id();
  parallel_pieces(100, 10, [&](Index, Index) {
    if (std::this_thread::get_id() == caller) caller_came = true;
    while (!caller_came) std::this_thread::yield();
  });
}

TEST_P(Threads, TickFromTheCaller) {
  std::vector<std::thread::id> ticks;
  OpObserver observer;
  observer.tick = [&] { ticks.push_back(std::this_thread::get_id()); };
  const Scoped<const OpObserver*> scope(context().observer, &observer);
  run_pieces();
  EXPECT_GE(ticks.size(), GetParam() == 1 ? 9U : 1U);
  for (const auto id : ticks) EXPECT_EQ(id, std::this_thread::get_id());
}

// Without a piece of its own a caller that comes late does not tick, and communication does not get on.
TEST_P(Threads, TickFromTheCallerEachTime) {
  int ticks = 0;
  OpObserver observer;
  observer.tick = [&] { ++ticks; };
  const Scoped<const OpObserver*> scope(context().observer, &observer);
  constexpr int kTimes = 1000;
  for (int i = 0; i < kTimes; ++i) parallel_pieces(2 * GetParam(), 1, [](Index, Index) {});
  EXPECT_GE(ticks, kTimes);
}

TEST_P(Threads, PropagateExceptions) {
  const auto fail = [](Index begin, Index) {
    if (begin == 60) throw std::runtime_error("piece 6");
  };
  EXPECT_THROW(parallel_pieces(100, 10, fail), std::runtime_error);
}

// A tick polls communication, which may fail; an exception that leaves a team of threads ends the process.
TEST_P(Threads, PropagateExceptionsOfTicks) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto run_with_failing_tick = [] {
    OpObserver observer;
    observer.tick = [] { throw std::runtime_error("a lost connection"); };
    const Scoped<const OpObserver*> scope(context().observer, &observer);
    try {
      run_pieces();
    } catch (const std::runtime_error&) {
      std::exit(0);
    }
    std::exit(1);
  };
  EXPECT_EXIT(run_with_failing_tick(), ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace tessera
