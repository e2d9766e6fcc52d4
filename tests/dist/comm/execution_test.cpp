#include <algorithm>
#include <random>

#include "dist/comm/collectives.h"
#include "dist/comm/progress.h"
#include "dist/comm/work.h"
#include "tensor/context.h"
#include "tests/dist/comm/values.h"
#include "tests/dist/mpi_test.h"
#include "tests/dist/plan/simulator.h"

namespace tessera::dist {
namespace {

using plan::Range;

// ---- rounds that no algorithm has ----

/// A message in a round of its own choosing is kept if the round stays valid.
void add_random_message(std::vector<plan::Rounds>& by_rank, Index count, std::mt19937& random) {
  const int ranks = static_cast<int>(by_rank.size());
  const auto up_to = [&](Index n) { return static_cast<Index>(random() % static_cast<unsigned>(n + 1)); };
  const int from = static_cast<int>(up_to(ranks - 1)), to = static_cast<int>(up_to(ranks - 1));
  const Index size = 1 + up_to(count / 2);
  const auto combine = random() % 2 ? plan::Combine::add : plan::Combine::copy;
  std::vector<plan::Round> round;
  for (plan::Rounds& rounds : by_rank) round.push_back(rounds.back());
  round[from].push_back({.send = {up_to(count - size), size}, .to = to});
  round[to].push_back({.receive = {up_to(count - size), size}, .from = from, .combine = combine});

  std::vector<plan::Rounds> alone;
  for (const plan::Round& r : round) alone.push_back({r});
  try {
    plan::validate(alone, count);
  } catch (const std::invalid_argument&) {
    return;
  }
  for (int rank = 0; rank < ranks; ++rank) by_rank[rank].back() = round[rank];
}

std::vector<plan::Rounds> random_rounds(int ranks, Index count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<plan::Rounds> by_rank(ranks);
  for (int r = 0; r < 12; ++r) {
    for (plan::Rounds& rounds : by_rank) rounds.emplace_back();
    for (int i = 0; i < 2 * ranks; ++i) add_random_message(by_rank, count, random);
  }
  return by_rank;
}

/// `x` as a buffer of parts of different sizes.
std::vector<Tensor> parts_of(const std::vector<double>& x) {
  std::vector<Tensor> parts;
  Index begin = 0;
  for (Index size = 0; begin < std::ssize(x); size = size * 2 + 1) {
    const Index end = std::min<Index>(begin + size, std::ssize(x));
    parts.push_back(
        Tensor::from<double>({end - begin}, std::vector<double>(x.begin() + begin, x.begin() + end)));
    begin = end;
  }
  return parts;
}

std::vector<double> contents(const std::vector<Tensor>& parts) {
  std::vector<double> x;
  for (const Tensor& part : parts) x.insert(x.end(), part.span<double>().begin(), part.span<double>().end());
  return x;
}

TEST(Execution, GivesTheResultOfOneRoundAfterTheOther) {
  const int ranks = world().size();
  const Index count = 40;
  for (unsigned seed = 0; seed < 20; ++seed) {
    const std::vector<plan::Rounds> by_rank = random_rounds(ranks, count, seed);
    plan::Buffers<double> expected;
    for (int rank = 0; rank < ranks; ++rank) expected.push_back(values<double>(rank, count));
    plan::run(by_rank, expected);

    for (const Cutting& cutting :
         {Cutting{}, Cutting{.segment_bytes = 24}, Cutting{.segment_bytes = 8, .in_flight_bytes = 1},
          Cutting{.segment_bytes = 40, .in_flight_bytes = 200}}) {
      const std::vector<Tensor> parts = parts_of(values<double>(world().rank(), count));
      run_async(world(), parts, by_rank[world().rank()], {.kind = Kind::all_reduce, .cutting = cutting})
          .wait();
      EXPECT_EQ(contents(parts), expected[world().rank()])
          << "seed " << seed << ", segments of " << cutting.segment_bytes;
    }
  }
}

// ---- lists of tensors ----

TEST(Execution, SumsAListOfTensors) {
  const int rank = world().rank(), ranks = world().size();
  const std::vector<Index> sizes = {100'000, 0, 3, 1, 20'000, 7, 200'000, 5000, 1};
  for (const Algorithm algorithm : {Algorithm::ring, Algorithm::recursive_doubling})
    for (const Index segment_bytes : {4 << 10, 64 << 10, 256 << 10}) {
      std::vector<Tensor> tensors;
      for (const Index size : sizes)
        tensors.push_back(Tensor::from<float>({size}, values<float>(rank % 3, size)));
      // One is a slice, in the middle of a storage whose other elements must stay.
      const Tensor around = Tensor::from<float>({3000}, values<float>(0, 3000));
      tensors.push_back(around.slice(1000, 2000));
      all_reduce(world(), tensors, {.algorithm = algorithm, .cutting = {.segment_bytes = segment_bytes}});

      for (const Tensor& tensor : tensors) {
        if (tensor.storage() == around.storage()) continue;
        for (Index i = 0; i < tensor.numel(); ++i) {
          float sum = 0;
          for (int r = 0; r < ranks; ++r) sum += value<float>(r % 3, i);
          ASSERT_EQ(tensor.data<float>()[i], sum) << i;
        }
      }
      for (Index i = 0; i < 3000; ++i)
        ASSERT_EQ(around.data<float>()[i],
                  value<float>(0, i) * static_cast<float>(i >= 1000 && i < 2000 ? ranks : 1))
            << i;
    }
}

TEST(Execution, TakesScratchAsCommunicationAndGivesItBack) {
  Ledger& ledger = context().ledger;
  const Index before = ledger.current_bytes(Category::communication);
  const Tensor x = Tensor::zeros({16 << 20}, DType::f32);
  ledger.reset_peaks();
  all_reduce(world(), x, {.algorithm = Algorithm::ring});
  EXPECT_EQ(ledger.current_bytes(Category::communication), before);
  const Index peak = ledger.peak_bytes(Category::communication) - before;
  EXPECT_EQ(peak > 0, world().size() > 1);
  EXPECT_LE(peak, 4 * Cutting{}.in_flight_bytes);
}

// ---- asynchronous ----

/// Works of different kinds and sizes on `comm`, and how to check their results.
struct Batch {
  std::vector<std::vector<Index>> sums, gathers;
  std::vector<Work> works;

  Batch(const Comm& comm, int size) : sums(size), gathers(size) {
    for (int i = 0; i < size; ++i) {
      const Index count = i * i * 50;
      sums[i] = values<Index>(comm.rank(), count);
      gathers[i].resize(comm.size(), -1);
      gathers[i][comm.rank()] = 100 * i + comm.rank();
      const Cutting cutting{.segment_bytes = 1 << 10, .in_flight_bytes = 5 << 10};
      works.push_back(all_reduce_async(comm, sums[i], {.algorithm = Algorithm::ring, .cutting = cutting}));
      works.push_back(all_gather_async(comm, gathers[i]));
    }
  }

  void expect_results(int ranks) const {
    for (std::size_t i = 0; i < sums.size(); ++i) {
      EXPECT_EQ(sums[i], sums_of_values<Index>(ranks, std::ssize(sums[i])));
      for (int rank = 0; rank < ranks; ++rank)
        EXPECT_EQ(gathers[i][rank], 100 * static_cast<Index>(i) + rank);
    }
  }
};

TEST(Work, EndsInAnyOrder) {
  std::mt19937 random(static_cast<unsigned>(world().rank()));  // a different order on each rank
  for (int repeat = 0; repeat < 3; ++repeat) {
    Batch batch(world(), 10);
    std::ranges::shuffle(batch.works, random);
    for (const Work& work : batch.works) {
      work.wait();
      EXPECT_TRUE(work.done());
    }
    batch.expect_results(world().size());
  }
}

TEST(Work, BeginsInAnyOrderOnDifferentCommunicators) {
  const Comm a = duplicate(world(), {"world", "a"}), b = duplicate(world(), {"world", "b"});
  const bool odd = world().rank() % 2 == 1;
  Batch first(odd ? a : b, 6), second(odd ? b : a, 6);
  for (const Work& work : first.works) work.wait();
  for (const Work& work : second.works) work.wait();
  first.expect_results(world().size());
  second.expect_results(world().size());
}

// A rank runs two collectives at once, its neighbours one after the other: the older one must get done
// whatever the newer one has in flight.
TEST(Work, OldestCollectiveHasRoomWhateverLaterOnesHaveInFlight) {
  const int rank = world().rank(), ranks = world().size();
  if (ranks == 1) return;
  const int next = (rank + 1) % ranks, previous = (rank + ranks - 1) % ranks;
  const auto pass = [&](const Range& sent, const Range& received) {
    return plan::Round{{.send = sent, .to = next, .receive = received, .from = previous}};
  };
  const RunOptions options{.kind = Kind::all_reduce, .cutting = {.in_flight_bytes = 100}};
  std::vector<Index> older(400), newer(2);
  const auto run_older = [&] {
    // First what fits beside another collective; then what does not.
    return run_async(world(), older, {pass({0, 1}, {1, 1}), pass({2, 199}, {201, 199})}, options);
  };
  const auto run_newer = [&] { return run_async(world(), newer, {pass({0, 1}, {1, 1})}, options); };
  const auto finish = [&](const Work& work) {
    const double deadline_s = now_s() + 10;
    world().progress().wait_until([&] { return work.done() || now_s() > deadline_s; });
    ASSERT_TRUE(work.done());
  };
  const Work first = run_older();
  if (rank % 2 == 1) finish(first);
  const Work second = run_newer();
  finish(first);
  finish(second);
}

TEST(Work, IsDoneByPollingAlone) {
  Batch batch(world(), 8);
  for (const Work& work : batch.works)
    while (!work.poll()) {
    }
  batch.expect_results(world().size());
}

TEST(Work, GoesOnWithoutAHandle) {
  Batch batch(world(), 8);
  batch.works.clear();
  world().progress().wait_until([] { return world().progress().idle(); });
  batch.expect_results(world().size());
}

TEST(Work, KeepsToItsBytesInFlight) {
  Ledger& ledger = context().ledger;
  const Index before = ledger.current_bytes(Category::communication);
  ledger.reset_peaks();
  // Many at once, and together no more in flight than one alone.
  std::vector<std::vector<float>> x(20, std::vector<float>(100'000));
  const Cutting cutting{.segment_bytes = 10'000, .in_flight_bytes = 100'000};
  std::vector<Work> works;
  for (auto& values : x)
    works.push_back(all_reduce_async(world(), values, {.algorithm = Algorithm::ring, .cutting = cutting}));
  while (!world().progress().idle()) world().progress().poll();
  // The oldest may have its own, whatever the others have.
  EXPECT_LE(ledger.peak_bytes(Category::communication) - before, 2 * cutting.in_flight_bytes);
}

TEST(Progress, DoesAtMostOneSegmentPerPoll) {
  if (world().size() == 1) return;
  std::vector<float> x(10'000);
  const Cutting cutting{.segment_bytes = 400};
  const Work work = all_reduce_async(world(), x, {.algorithm = Algorithm::ring, .cutting = cutting});
  Index polls = 0;
  while (!work.done()) polls += world().progress().poll() ? 1 : 0;
  const Index added = (world().size() - 1) * (10'000 / world().size());
  EXPECT_GE(polls, added / 100);
}

TEST(Tags, WrapSafely) {
  if (world().size() == 1) return;
  // More collectives than tags, many of them under way at once.
  constexpr Index kCalls = 2 * Comm::kNumTags + 1000, kAtOnce = 500;
  std::vector<std::vector<Index>> x(kAtOnce, std::vector<Index>(1));
  std::vector<Work> works(kAtOnce);
  for (Index call = 0; call < kCalls; ++call) {
    const Index i = call % kAtOnce, root = call % world().size();
    works[i].wait();
    if (call >= kAtOnce) {
      EXPECT_EQ(x[i][0], call - kAtOnce);
    }
    x[i][0] = world().rank() == root ? call : -1;
    works[i] = broadcast_async(world(), x[i], static_cast<int>(root));
  }
  for (const Work& work : works) work.wait();
}

}  // namespace
}  // namespace tessera::dist
