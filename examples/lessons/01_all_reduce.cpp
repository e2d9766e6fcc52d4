// A sum over ranks, three ways. Algorithms differ in how many messages follow each other (latency) and in how
// many bytes a rank sends (bandwidth):
//   - ring: shares travel twice round, each rank adds its own; the fewest bytes, the most rounds;
//   - tree: pairs merge, then pairs of pairs, and the sum goes back down; few rounds, each of all bytes;
//   - halving: partners swap halves, then quarters, and double back; few rounds and the fewest bytes.
//
// An algorithm is data (dist/plan), which dist/comm executes; so this prints it, does it, and compares.
//
//     mpirun -n 4 build/bin/01_all_reduce
//
//     ring, as rank 0 sees it
//       round 1  sends [6, 8) to 1  adds [4, 6) from 3
//       round 2  sends [4, 6) to 1  adds [2, 4) from 3
//       round 3  sends [2, 4) to 1  adds [0, 2) from 3
//       round 4  sends [0, 2) to 1  copies [6, 8) from 3
//       round 5  sends [6, 8) to 1  copies [4, 6) from 3
//       round 6  sends [4, 6) to 1  copies [2, 4) from 3
//     tree, as rank 0 sees it
//       round 1  adds [0, 8) from 1
//       round 2  adds [0, 8) from 2
//       round 3  sends [0, 8) to 2
//       round 4  sends [0, 8) to 1
//     halving, as rank 0 sees it
//       round 1  sends [4, 8) to 1  adds [0, 4) from 1
//       round 2  sends [2, 4) to 2  adds [0, 2) from 2
//       round 3  sends [0, 2) to 2  copies [2, 4) from 2
//       round 4  sends [0, 4) to 1  copies [4, 8) from 1
//              times its bytes   8 B in us  1 MiB in us   beats the tree
//     ring                1.50         6.0        312.7      from 8192 B
//     tree                2.00         4.0        821.9                -
//     halving             1.50         4.0        310.7         from 8 B
//     holds: a ring sends 2 (n-1)/n of the bytes
//     holds: a tree is no dearer for 8 bytes
//     holds: a ring is cheaper for 100 MB
//     holds: all three give the sum to all ranks, by the planned messages
//
// What to change: 3 ranks, where halving folds the third in first, at what price? 8 ranks: how do rounds and
// bytes grow? kCount = 2: who sends nothing? A plan::Network of 20 us and 1 GB/s: where are the crossovers?

#include <fmt/format.h>

#include "dist/comm/collectives.h"
#include "examples/lessons/lesson.h"

namespace tessera {
namespace {

using dist::Algorithm;
using dist::Comm;
using dist::Kind;

constexpr Index kCount = 8;  // elements to sum
struct Way {
  const char* name;
  Algorithm algorithm;
};
constexpr Way kWays[] = {
    {"ring", Algorithm::ring}, {"tree", Algorithm::binomial}, {"halving", Algorithm::halving_doubling}};

plan::Call call_of(int rank, int ranks, Index count) {
  return {.kind = Kind::all_reduce, .rank = rank, .ranks = ranks, .count = count};
}

std::string text(const plan::Range& range) { return fmt::format("[{}, {})", range.begin, range.end()); }
std::string text(const plan::Step& step) {
  std::string line;
  if (step.send.size > 0) line += fmt::format("  sends {} to {}", text(step.send), step.to);
  const char* verb = step.combine == plan::Combine::add ? "adds" : "copies";
  if (step.receive.size > 0) line += fmt::format("  {} {} from {}", verb, text(step.receive), step.from);
  return line;
}

void print_rounds(const Lesson& lesson, const Way& way, int ranks) {
  lesson.say("{}, as rank 0 sees it\n", way.name);
  for (int number = 1; const auto& round : plan::schedule(call_of(0, ranks, kCount), way.algorithm).rounds) {
    lesson.say("  round {}", number++);
    for (const plan::Step& step : round) lesson.say("{}", text(step));
    lesson.say("\n");
  }
}

/// Does it, where every rank has 0, 1, 2, ... times its number plus one: whether all is as it should be.
bool sums(const Way& way, const Comm& world) {
  std::vector<Index> x(kCount), expected(kCount);
  for (Index i = 0; i < kCount; ++i) {
    x[i] = i * (world.rank() + 1);
    expected[i] = i * world.size() * (world.size() + 1) / 2;
  }
  dist::all_reduce(world, x, {.algorithm = way.algorithm});
  const plan::Volume planned =
      plan::schedule_traffic(call_of(world.rank(), world.size(), kCount), way.algorithm).sent;
  const dist::Counter& counted = world.counter(Kind::all_reduce, way.algorithm);
  return x == expected && counted.messages_sent == planned.messages &&
         counted.bytes_sent == 8 * planned.elements;
}

/// What the busiest rank sends.
Index most_sent(const Way& way, int ranks, Index count) {
  Index most = 0;
  for (int r = 0; r < ranks; ++r)
    most = std::max(most, plan::schedule_traffic(call_of(r, ranks, count), way.algorithm).sent.elements);
  return most;
}

double price_us(const Way& way, double bytes, int ranks) {
  return 1e6 * plan::predicted_s(Kind::all_reduce, way.algorithm, bytes, {ranks, ranks}, plan::Network{});
}

/// The fewest bytes, in powers of two, from which on it is cheaper than a tree.
std::string crossover(const Way& way, int ranks) {
  for (Index bytes = 8; bytes <= 1 << 30; bytes *= 2)
    if (const auto b = static_cast<double>(bytes); price_us(way, b, ranks) < price_us(kWays[1], b, ranks))
      return fmt::format("from {} B", bytes);
  return "-";
}

void compare(Lesson& lesson, int ranks) {
  constexpr Index kLarge = 840 << 10;  // elements; 2 to 8 divide it
  lesson.say("         times its bytes   8 B in us  1 MiB in us   beats the tree\n");
  for (const Way& way : kWays)
    lesson.say("{:<9}{:>15.2f}{:>12.1f}{:>13.1f}{:>17}\n", way.name,
               static_cast<double>(most_sent(way, ranks, kLarge)) / kLarge, price_us(way, 8, ranks),
               price_us(way, 1 << 20, ranks), crossover(way, ranks));
  const auto& [ring, tree, halving] = kWays;
  lesson.claim("a ring sends 2 (n-1)/n of the bytes",
               most_sent(ring, ranks, kLarge) == 2 * kLarge * (ranks - 1) / ranks);
  lesson.claim("a tree is no dearer for 8 bytes",
               ranks < 4 || price_us(tree, 8, ranks) <= price_us(ring, 8, ranks));
  lesson.claim("a ring is cheaper for 100 MB",
               ranks < 3 || price_us(ring, 1e8, ranks) < price_us(tree, 1e8, ranks));
}

void all_reduce(Lesson& lesson) {
  bool right = true;
  for (const Way& way : kWays) {
    print_rounds(lesson, way, lesson.world().size());
    right = sums(way, lesson.world()) && right;
  }
  compare(lesson, lesson.world().size());
  lesson.claim("all three give the sum to all ranks, by the planned messages", right);
}

}  // namespace
}  // namespace tessera

int main(int argc, char** argv) {
  return tessera::run_lesson(argc, argv, "01_all_reduce", "A sum over ranks, three ways.",
                             tessera::all_reduce);
}
