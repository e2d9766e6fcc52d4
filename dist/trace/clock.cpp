#include "dist/trace/clock.h"

#include <algorithm>
#include <array>
#include <limits>

#include "dist/comm/collectives.h"
#include "dist/comm/work.h"
#include "dist/trace/events.h"

namespace tessera::dist {
namespace {

constexpr int kQuestions = 8;

int first_on_node_of(const Comm& world, int rank) {
  const std::vector<int>& nodes = world.nodes();
  return static_cast<int>(std::ranges::find(nodes, nodes[rank]) - nodes.begin());
}

void answer(const Comm& world, int rank) {
  for (int i = 0; i < kQuestions; ++i) {
    std::array<double, 1> time_s{};
    receive_async(world, std::span<double>(time_s), rank).wait();
    time_s[0] = now_s();
    send_async(world, std::span<double>(time_s), rank).wait();
  }
}

ClockOffset ask(const Comm& world) {
  ClockOffset best{0, std::numeric_limits<double>::max()};
  for (int i = 0; i < kQuestions; ++i) {
    std::array<double, 1> time_s{};
    const double asked_s = now_s();
    send_async(world, std::span<double>(time_s), 0).wait();
    receive_async(world, std::span<double>(time_s), 0).wait();
    const double answered_s = now_s(), error_s = (answered_s - asked_s) / 2;
    if (error_s < best.error_s) best = {time_s[0] - asked_s - error_s, error_s};
  }
  return best;
}

}  // namespace

ClockOffset compare_clocks(const Comm& world) {
  const int first = first_on_node_of(world, world.rank());
  ClockOffset mine;
  for (int rank = 1; rank < world.size(); ++rank) {
    if (first_on_node_of(world, rank) != rank) continue;
    if (world.rank() == 0) answer(world, rank);
    if (world.rank() == rank) mine = ask(world);
  }
  std::vector<double> all(2 * static_cast<std::size_t>(world.size()));
  const auto place = [&](int rank) { return all.begin() + 2 * rank; };
  *place(world.rank()) = mine.offset_s;
  *(place(world.rank()) + 1) = mine.error_s;
  all_gather(world, all);
  return {*place(first), *(place(first) + 1)};
}

}  // namespace tessera::dist
