// A program that ends in the way its argument says, for launch_test.sh.
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <thread>

#include "dist/comm/collectives.h"
#include "dist/comm/diagnosis.h"
#include "dist/comm/faults_internal.h"
#include "dist/comm/launch.h"
#include "dist/comm/progress.h"

namespace tessera::dist {
namespace {

// What `rank` does; the others wait for it in a barrier.
void only(const Comm& world, int rank, const std::function<void()>& act) {
  if (world.rank() == rank) act();
  barrier(world);
}

const CollectiveOptions kRing{.algorithm = Algorithm::ring};

void sleep_s(double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }

// Sums until this rank dies, and the others with it.
void killed(const Comm& world, int victim) {
  if (world.rank() == victim)
    world.progress().set_faults(std::make_unique<Faults>(FaultOptions{.killed_after = 20}));
  for (std::vector<float> x(100'000);;) all_reduce(world, x, kRing);
}

// The ways that need the watchdog.
void watched(const Comm& world, const std::string& how) {
  const int rank = world.rank(), last = world.size() - 1;
  const Comm comm = duplicate(world, {"dp", "gradients"});
  diagnose(world, {.watchdog_s = how == "watched-never-calls" ? 5.0 : 2.0});
  std::vector<double> x(3);
  if (how == "watched-never-calls") {
    all_reduce(comm, x, kRing);
    if (rank == last) sleep_s(60);
    all_reduce(comm, x, kRing);
  }
  if (how == "watched-computes-then-waits") {  // of which only the latter ends the job
    sleep_s(2.5);
    if (rank == last) sleep_s(60);
    all_reduce(comm, x, kRing);
  }
  if (how == "watched-one-after-the-other") {  // the time of rank 0 is up before the last rank waits
    sleep_s(0.6 * rank);
    receive_async(comm, x, (rank + 1) % world.size()).wait();
  }
  for (int i = 0; i < 4 && how == "watched-slow-but-well"; ++i) {
    if (rank == last) sleep_s(0.7);
    all_reduce(comm, x, kRing);
  }
}

// The ways that need the checked mode.
void checked(const Comm& world, const std::string& how) {
  const bool odd_one = world.rank() == world.size() - 1;
  const Comm comm = duplicate(world, {"dp", "gradients"});
  diagnose(world, {.check_collectives = true});
  for (int i = 0; i < 3; ++i) barrier(comm);
  std::vector<float> x(how == "checked-different-counts" && odd_one ? 4 : 3);
  if (how == "checked-different-collectives" && odd_one)
    barrier(comm);
  else
    all_reduce(comm, x, kRing);
}

int run(const Comm& world, const std::string& how) {
  const int last = world.size() - 1;
  const std::string me = std::to_string(world.rank());
  if (how == "well") return 0;
  if (how == "status") return world.rank();
  if (how == "refused") throw std::invalid_argument("[layout] tp is 3 but there are 4 heads");
  if (how == "refused-differently") throw std::invalid_argument("[layout] seen by " + me);
  if (how == "refused-by-one") only(world, last, [] { throw std::invalid_argument("[op] x is [3]"); });
  if (how == "refused-by-one-at-the-end" && world.rank() == last)
    throw std::invalid_argument("[op] x is [3]");
  if (how == "thrown") only(world, last, [] { throw std::runtime_error("no such file"); });
  if (how == "thrown-while-others-compute") {
    if (world.rank() == last) throw std::runtime_error("no such file");
    for (std::atomic<bool> computing = true; computing;) {
    }
  }
  if (how == "thrown-in-a-thread")
    only(world, last, [] { std::thread([] { throw std::runtime_error("no such file"); }).join(); });
  if (how == "crashed") only(world, last, [] { std::raise(SIGSEGV); });
  if (how == "wrong-count") {
    std::vector<double> x(world.rank() == last ? 3 : 2);
    all_reduce(world, x);
  }
  if (how == "unmatched" && world.rank() == last) {
    static std::vector<double> x(2);
    receive_async(world, x, 0);
  }
  if (how == "without-a-handle") {
    static std::vector<double> x(1 << 20, 1);
    all_reduce_async(world, x);
  }
  if (how == "killed") killed(world, last);
  if (how.starts_with("watched-")) watched(world, how);
  if (how.starts_with("checked-")) checked(world, how);
  if (how == "interrupted") {
    if (world.rank() == 0) std::fprintf(stderr, "ready\n");
    while (max(world, interrupted()) == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  if (how == "deaf") {
    barrier(world);
    if (world.rank() == 0) std::fprintf(stderr, "ready\n");
    sleep_s(60);
  }
  return 0;
}

}  // namespace
}  // namespace tessera::dist

int main(int argc, char** argv) {
  return tessera::dist::launch(argc, argv, [&](tessera::dist::Comm& world) {
    return tessera::dist::run(world, argc > 1 ? argv[1] : "");
  });
}
