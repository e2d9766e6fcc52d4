// A program that ends in the way its argument says, for launch_test.sh.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <thread>

#include "dist/comm/collectives.h"
#include "dist/comm/launch.h"

namespace tessera::dist {
namespace {

// What `rank` does; the others wait for it in a barrier.
void only(const Comm& world, int rank, const std::function<void()>& act) {
  if (world.rank() == rank) act();
  barrier(world);
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
  if (how == "interrupted") {
    if (world.rank() == 0) std::fprintf(stderr, "ready\n");
    while (max(world, interrupted()) == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  if (how == "deaf") {
    barrier(world);
    if (world.rank() == 0) std::fprintf(stderr, "ready\n");
    std::this_thread::sleep_for(std::chrono::seconds(60));
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
