#include "dist/comm/collectives.h"

#include <bit>
#include <cmath>
#include <functional>
#include <random>

#include "dist/plan/barrier.h"
#include "tests/dist/comm/values.h"
#include "tests/dist/mpi_test.h"
#include "tests/dist/plan/calls.h"

namespace tessera::dist {
namespace {

using plan::Call;
using plan::Range;

int rank() { return world().rank(); }
int ranks() { return world().size(); }

// ---- every collective, every algorithm, every type ----

/// The default, and messages of at most 7 elements of which few are under way.
template <class T>
std::vector<Cutting> cuttings() {
  return {{}, {.in_flight_bytes = 100, .message_limit_bytes = 7 * static_cast<Index>(sizeof(T))}};
}

/// One call: all ranks' descriptions of it, and this rank's buffer.
template <class T>
struct Case {
  std::vector<Call> by_rank;
  Cutting cutting;
  std::vector<T> x{};

  const Call& call() const { return by_rank[rank()]; }
};

template <class T>
Case<T> make_case(const std::function<Call(int rank)>& call_of, const Cutting& cutting) {
  Case<T> c{.by_rank = {}, .cutting = cutting};
  for (int r = 0; r < ranks(); ++r) c.by_rank.push_back(call_of(r));
  c.x = values<T>(rank(), c.call().count);
  return c;
}

/// As if there were two ranks on each node, the nodes in no order.
const Comm& on_nodes() {
  static Comm comm;
  if (comm.defined()) return comm;
  std::vector<int> nodes;
  for (int r = 0; r < ranks(); ++r) nodes.push_back(r * 3 % 4 / 2);
  return comm = duplicate_as_if_on(nodes, world(), {"world", "nodes"});
}

plan::Nodes nodes_of(const Comm& comm) {
  plan::Nodes nodes(2);
  for (int r = 0; r < ranks(); ++r) nodes[comm.nodes()[r]].push_back(r);
  std::erase_if(nodes, [](const auto& members) { return members.empty(); });
  return nodes;
}

template <class T>
std::vector<Case<T>> cases(Kind kind, Algorithm algorithm, const plan::Nodes& nodes) {
  std::vector<Case<T>> all;
  for (const Index count : kCounts)
    for (const Cutting& cutting : cuttings<T>()) {
      if (kind == Kind::all_to_all) {
        const auto add = [&](const plan::SizeOf& size_of) {
          all.push_back(
              make_case<T>([&](int r) { return plan::all_to_all_call(r, ranks(), size_of); }, cutting));
        };
        add([&](int, int) { return count / ranks(); });
        if (algorithm == Algorithm::pairwise)
          add([&](int from, int to) { return (count + 3 * from + to) % 7; });
        continue;
      }
      const int root = plan::has_root(kind) ? static_cast<int>(std::ssize(all)) % ranks() : 0;
      for (const auto& parts :
           plan::has_parts(kind) ? plan::divisions(ranks(), count) : std::vector<std::vector<Range>>{{}})
        all.push_back(
            make_case<T>([&](int r) { return Call{kind, r, ranks(), count, parts, root, nodes}; }, cutting));
    }
  return all;
}

template <class T>
Work start(const Comm& comm, Case<T>& c, Algorithm algorithm) {
  const CollectiveOptions options{.algorithm = algorithm, .cutting = c.cutting};
  const Call& call = c.call();
  switch (call.kind) {
    case Kind::all_reduce:
      return all_reduce_async(comm, c.x, options);
    case Kind::reduce_scatter:
      return reduce_scatter_async(comm, c.x, call.parts, options);
    case Kind::all_gather:
      return all_gather_async(comm, c.x, call.parts, options);
    case Kind::broadcast:
      return broadcast_async(comm, c.x, call.root, options);
    case Kind::reduce:
      return reduce_async(comm, c.x, call.root, options);
    case Kind::gather:
      return gather_async(comm, c.x, call.root, call.parts, options);
    case Kind::scatter:
      return scatter_async(comm, c.x, call.root, call.parts, options);
    default: {
      const std::vector<Index> sizes = plan::sizes_of(call.parts);
      const auto half = static_cast<std::ptrdiff_t>(ranks());
      const BlockSizes blocks{{sizes.begin(), sizes.begin() + half}, {sizes.begin() + half, sizes.end()}};
      const Index sent = call.parts[ranks()].begin;
      const std::span<T> x(c.x);
      return all_to_all_async(comm, x.first(sent), x.subspan(sent), blocks, options);
    }
  }
}

Index num_pieces(const plan::Rounds& rounds, Index limit, Range plan::Step::*range) {
  Index pieces = 0;
  for (const plan::Round& round : rounds)
    for (const plan::Step& step : round)
      if (!step.local()) pieces += ((step.*range).size + limit - 1) / limit;
  return pieces;
}

/// What a call is to count: messages and bytes by the closed formula, pieces by the rounds.
template <class T>
Counter expected_counter(const Case<T>& c, Algorithm algorithm) {
  const plan::Traffic traffic = plan::schedule_traffic(c.call(), algorithm);
  const plan::Rounds rounds = plan::schedule(c.call(), algorithm).rounds;
  const Index size = sizeof(T);
  const Index limit = std::min(c.cutting.message_limit_bytes, c.cutting.segment_bytes) / size;
  return {.calls = 1,
          .messages_sent = traffic.sent.messages,
          .bytes_sent = traffic.sent.elements * size,
          .pieces_sent = num_pieces(rounds, limit, &plan::Step::send),
          .messages_received = traffic.received.messages,
          .bytes_received = traffic.received.elements * size,
          .pieces_received = num_pieces(rounds, limit, &plan::Step::receive)};
}

void expect_counted(const Counter& before, const Counter& after, const Counter& expected) {
  EXPECT_EQ(after.calls - before.calls, expected.calls);
  EXPECT_EQ(after.messages_sent - before.messages_sent, expected.messages_sent);
  EXPECT_EQ(after.messages_received - before.messages_received, expected.messages_received);
  EXPECT_EQ(after.bytes_sent - before.bytes_sent, expected.bytes_sent);
  EXPECT_EQ(after.bytes_received - before.bytes_received, expected.bytes_received);
  EXPECT_EQ(after.pieces_sent - before.pieces_sent, expected.pieces_sent);
  EXPECT_EQ(after.pieces_received - before.pieces_received, expected.pieces_received);
}

/// All cases of an algorithm, under way at once: ranks that share cores have something to do while they wait.
template <class T>
void run_cases(const Comm& comm, Kind kind, Algorithm algorithm) {
  std::vector<Case<T>> all = cases<T>(kind, algorithm, nodes_of(on_nodes()));
  const Counter before = comm.counter(kind, algorithm);
  Counter expected;
  std::vector<Work> works;
  for (Case<T>& c : all) {
    works.push_back(start(comm, c, algorithm));
    expected += expected_counter(c, algorithm);
  }
  for (const Work& work : works) work.wait();
  expect_counted(before, comm.counter(kind, algorithm), expected);
  for (const Case<T>& c : all) {
    SCOPED_TRACE(std::string(to_string(kind)) + " " + to_string(algorithm) + ", count " +
                 std::to_string(c.call().count));
    plan::expect_result(c.by_rank, c.call(), c.x, value<T>);
  }
}

template <class T>
class EveryCollective : public testing::Test {};
using Types = testing::Types<float, double, std::int32_t, std::int64_t>;
TYPED_TEST_SUITE(EveryCollective, Types);

TYPED_TEST(EveryCollective, IsExactAndCountedByEveryAlgorithm) {
  for (const Kind kind : plan::kKinds)
    for (const Algorithm algorithm : plan::algorithms_of(kind))
      run_cases<TypeParam>(algorithm == Algorithm::hierarchical ? on_nodes() : world(), kind, algorithm);
}

TYPED_TEST(EveryCollective, FindsTheLargestByEveryAlgorithm) {
  for (const Algorithm algorithm : plan::algorithms_of(Kind::all_reduce)) {
    std::vector<TypeParam> x;
    for (Index i = 0; i < 100; ++i) x.push_back(static_cast<TypeParam>((rank() + i) % ranks() - 5));
    all_reduce(on_nodes(), x, {.algorithm = algorithm, .reduction = Reduction::max});
    EXPECT_EQ(x, std::vector<TypeParam>(100, static_cast<TypeParam>(ranks() - 6))) << to_string(algorithm);
  }
}

TEST(AllToAll, WorksInPlaceAndByDefault) {
  for (const Index size : {0, 1, 1000})
    for (const Algorithm algorithm : {Algorithm::automatic, Algorithm::pairwise, Algorithm::bruck}) {
      std::vector<float> x = values<float>(rank(), size * ranks());
      all_to_all(world(), x, {.algorithm = algorithm});
      for (Index i = 0; i < std::ssize(x); ++i)
        ASSERT_EQ(x[i], value<float>(static_cast<int>(i / size), rank() * size + i % size));
    }
}

TEST(Automatic, IsTheAlgorithmThatPlanChooses) {
  const auto expect_used = [](Kind kind, Index bytes, const std::function<void()>& call) {
    const Algorithm algorithm = plan::choose_algorithm(kind, static_cast<double>(bytes),
                                                       {ranks(), world().ranks_on_node()}, plan::Network{});
    const Index before = world().counter(kind, algorithm).calls;
    call();
    EXPECT_EQ(world().counter(kind, algorithm).calls, before + 1) << to_string(kind);
  };
  for (const Index count : {1, 1000, 300'000}) {
    std::vector<float> x(count);
    expect_used(Kind::all_reduce, 4 * count, [&] { all_reduce(world(), x); });
    expect_used(Kind::reduce_scatter, 4 * count, [&] { reduce_scatter(world(), x); });
    expect_used(Kind::all_gather, 4 * count, [&] { all_gather(world(), x); });
    expect_used(Kind::broadcast, 4 * count, [&] { broadcast(world(), x, 0); });
    expect_used(Kind::reduce, 4 * count, [&] { reduce(world(), x, 0); });
  }
}

TEST(Automatic, GoesByTheNetworkItIsGiven) {
  const Comm comm = duplicate(world(), {"world", "network"});
  const plan::Network latency{.node = {1, 0, 0}, .across = {1, 0, 0}, .add_s_per_byte = 0};
  const plan::Network bytes{.node = {0, 1, 0}, .across = {0, 1, 0}, .add_s_per_byte = 0};
  set_network(comm, latency);
  EXPECT_EQ(automatic_algorithm(comm, Kind::all_gather, 1 << 20),
            plan::choose_algorithm(Kind::all_gather, 1 << 20, {ranks(), ranks()}, latency));
  set_network(comm, bytes);
  EXPECT_EQ(automatic_algorithm(world(), Kind::all_reduce, 8),
            plan::choose_algorithm(Kind::all_reduce, 8, {ranks(), ranks()}, bytes));
  set_network(comm, {});
}

TEST(Barrier, EndsAfterAllHaveBegun) {
  const plan::Traffic traffic = plan::dissemination_barrier_traffic(ranks());
  const Index size = bytes_of(Element::i32);
  const Counter before = world().counter(Kind::barrier);
  barrier(world());
  expect_counted(before, world().counter(Kind::barrier),
                 {.calls = 1,
                  .messages_sent = traffic.sent.messages,
                  .bytes_sent = traffic.sent.elements * size,
                  .pieces_sent = traffic.sent.messages,
                  .messages_received = traffic.received.messages,
                  .bytes_received = traffic.received.elements * size,
                  .pieces_received = traffic.received.messages});

  for (int last = 0; last < ranks(); ++last) {
    std::vector<Index> ready(1);
    if (rank() == last) {
      for (int from = 0; from < ranks(); ++from)
        if (from != last) receive_async(world(), ready, from).wait();
      barrier(world());
    } else {
      const Work work = barrier_async(world());
      for (int i = 0; i < 100; ++i) EXPECT_FALSE(work.poll());
      send_async(world(), ready, last).wait();
      work.wait();
    }
  }
}

TEST(Agreement, IsTheSameOnAllRanks) {
  EXPECT_EQ(sum(world(), 0.5), 0.5 * ranks());
  EXPECT_EQ(sum(world(), rank()), ranks() * (ranks() - 1) / 2);
  EXPECT_EQ(sum(world(), Index{1} << 40), ranks() * (Index{1} << 40));
  EXPECT_EQ(max(world(), -rank()), 0);
  EXPECT_EQ(max(world(), rank() == ranks() - 1), 1);
  EXPECT_EQ(max(world(), 0.25 * rank()), 0.25 * (ranks() - 1));
  for (int bad = 0; bad < ranks(); ++bad)
    EXPECT_TRUE(std::isnan(max(world(), rank() == bad ? std::nan("") : static_cast<double>(rank()))));
}

// ---- bits ----

// Numbers of very different sizes, so that a sum depends on its order.
std::vector<float> random_floats(int seed, Index count) {
  std::mt19937 random(static_cast<unsigned>(seed));
  std::lognormal_distribution<float> size(0, 4);
  std::vector<float> result(count);
  for (float& x : result) x = (random() % 2 ? 1.0F : -1.0F) * size(random);
  return result;
}

std::vector<std::int32_t> bits_of(const std::vector<float>& x) {
  std::vector<std::int32_t> bits;
  for (const float v : x) bits.push_back(std::bit_cast<std::int32_t>(v));
  return bits;
}

/// The bits of this rank's result, which must be the same for all cuttings.
std::vector<std::int32_t> bits_for_all_cuttings(Algorithm algorithm, Kind kind) {
  const std::vector<Range> parts = plan::shares(1001, ranks());
  std::vector<std::int32_t> first;
  for (const Cutting& cutting :
       {Cutting{}, Cutting{.segment_bytes = 4}, Cutting{.segment_bytes = 1000, .in_flight_bytes = 1},
        Cutting{.segment_bytes = 64, .in_flight_bytes = 1 << 20}}) {
    std::vector<float> x = random_floats(rank(), 1001);
    const CollectiveOptions options{.algorithm = algorithm, .cutting = cutting};
    if (kind == Kind::all_reduce) all_reduce(on_nodes(), x, options);
    if (kind == Kind::reduce_scatter) {
      reduce_scatter(on_nodes(), x, parts, options);
      x = {x.begin() + parts[rank()].begin, x.begin() + parts[rank()].end()};
    }
    const std::vector<std::int32_t> bits = bits_of(x);
    if (first.empty()) first = bits;
    EXPECT_EQ(bits, first) << to_string(kind) << ' ' << to_string(algorithm);
  }
  return first;
}

TEST(AllReduce, IsBitIdenticalOnAllRanksAndForAllCuttings) {
  for (const Algorithm algorithm : plan::algorithms_of(Kind::all_reduce)) {
    const std::vector<std::int32_t> mine = bits_for_all_cuttings(algorithm, Kind::all_reduce);
    std::vector<std::int32_t> bits_of_0 = mine;
    broadcast(world(), bits_of_0, 0);
    EXPECT_EQ(mine, bits_of_0) << to_string(algorithm);
  }
}

TEST(ReduceScatter, IsBitIdenticalForAllCuttings) {
  for (const Algorithm algorithm : plan::algorithms_of(Kind::reduce_scatter))
    bits_for_all_cuttings(algorithm, Kind::reduce_scatter);
}

TEST(Collectives, RefuseWhatCannotBe) {
  std::vector<float> x(10);
  std::vector<double> y(10);
  std::vector<std::byte> bytes(10);
  const auto many = std::vector<Range>(ranks() + 1);
  std::vector<Range> outside(ranks());
  outside[0] = {5, 6};
  EXPECT_THROW(all_reduce(world(), x, {.algorithm = Algorithm::bruck}), std::invalid_argument);
  EXPECT_THROW(broadcast(world(), x, 0, {.algorithm = Algorithm::pairwise}), std::invalid_argument);
  EXPECT_THROW(broadcast(world(), x, ranks()), std::invalid_argument);
  EXPECT_THROW(gather(world(), x, -1), std::invalid_argument);
  EXPECT_THROW(reduce_scatter(world(), x, many), std::invalid_argument);
  EXPECT_THROW(all_gather(world(), x, outside), std::invalid_argument);
  EXPECT_THROW(all_to_all(world(), x, y), std::invalid_argument);
  EXPECT_THROW(all_to_all(world(), x, x, {{1}, {1}}), std::invalid_argument);
  std::vector<float> odd(ranks() + 1);
  if (ranks() > 1) {
    EXPECT_THROW(all_to_all(world(), odd), std::invalid_argument);
  }
  EXPECT_THROW(all_reduce(world(), x, {.cutting = {.segment_bytes = 3}}), std::invalid_argument);
  EXPECT_THROW(all_reduce(world(), x, {.cutting = {.message_limit_bytes = Index{1} << 31}}),
               std::invalid_argument);
  EXPECT_THROW(all_reduce(world(), bytes), std::invalid_argument);
}

}  // namespace
}  // namespace tessera::dist
