#include <stdexcept>

#include "dist/comm/collectives.h"
#include "tests/dist/comm/values.h"
#include "tests/dist/mpi_test.h"

namespace tessera::dist {
namespace {

TEST(PointToPoint, CarriesEveryTypeAndSizeRoundTheRing) {
  const int rank = world().rank(), ranks = world().size();
  if (ranks == 1) return;
  const int next = (rank + 1) % ranks, previous = (rank + ranks - 1) % ranks;
  const Cutting tiny{.message_limit_bytes = 7 * sizeof(double)};
  for (const Index count : kCounts)
    for (const Cutting& cutting : {Cutting{}, tiny}) {
      const Counter before = world().counter(Kind::point_to_point);
      std::vector<double> mine = values<double>(rank, count), theirs(count);
      const Work receive = receive_async(world(), theirs, previous, 3, cutting);
      const Work send = send_async(world(), mine, next, 3, cutting);
      receive.wait();
      send.wait();
      EXPECT_EQ(theirs, values<double>(previous, count));
      const Counter after = world().counter(Kind::point_to_point);
      EXPECT_EQ(after.messages_sent - before.messages_sent, count > 0 ? 1 : 0);
      EXPECT_EQ(after.bytes_received - before.bytes_received, count * 8);
      const Index pieces = cutting.message_limit_bytes == tiny.message_limit_bytes
                               ? (count + 6) / 7
                               : std::min<Index>(count, 1);
      EXPECT_EQ(after.pieces_sent - before.pieces_sent, pieces);
    }
}

TEST(PointToPoint, KeepsTheOrderOfMessagesWithOneTag) {
  const int rank = world().rank(), ranks = world().size();
  if (ranks == 1 || rank > 1) return;
  // Packed and in many pieces, all at once.
  constexpr int kMessages = 20;
  std::vector<std::vector<Tensor>> sent, received;
  std::vector<Work> works;
  for (int i = 0; i < kMessages; ++i) {
    auto& message = (rank == 0 ? sent : received).emplace_back();
    for (const Index size : {5, 1, 30})
      message.push_back(rank == 0 ? Tensor::from<float>({size}, values<float>(i % 8, size))
                                  : Tensor::zeros({size}, DType::f32));
    const Cutting cutting{.message_limit_bytes = 4 + 4 * (i % 3)};
    works.push_back(rank == 0 ? send_async(world(), message, 1, 0, cutting)
                              : receive_async(world(), message, 0, 0, cutting));
  }
  for (const Work& work : works) work.wait();
  for (int i = 0; i < std::ssize(received); ++i)
    for (const Tensor& part : received[i])
      for (Index k = 0; k < part.numel(); ++k)
        ASSERT_EQ(part.data<float>()[k], value<float>(i % 8, k)) << "message " << i;
}

TEST(PointToPoint, WrapsTagsSafely) {
  const int rank = world().rank();
  if (world().size() == 1 || rank > 1) return;
  constexpr Index kMessages = 100'000, kAtOnce = 100;
  std::vector<std::vector<Index>> slots(kAtOnce, std::vector<Index>(1));
  std::vector<Work> works(kAtOnce);
  for (Index i = 0; i < kMessages; ++i) {
    std::vector<Index>& slot = slots[i % kAtOnce];
    works[i % kAtOnce].wait();
    if (rank == 1 && i >= kAtOnce) {
      ASSERT_EQ(slot[0], i - kAtOnce);
    }
    slot[0] = rank == 0 ? i : -1;
    const int tag = static_cast<int>(i % Comm::kNumTags);
    works[i % kAtOnce] = rank == 0 ? send_async(world(), slot, 1, tag) : receive_async(world(), slot, 0, tag);
  }
  for (const Work& work : works) work.wait();
}

TEST(PointToPoint, NeverMeetsCollectivesOrOtherCommunicators) {
  const int rank = world().rank(), ranks = world().size();
  if (ranks == 1) return;
  const Comm other = duplicate(world(), {"world", "other"});
  const int next = (rank + 1) % ranks, previous = (rank + ranks - 1) % ranks;
  std::vector<Index> a(1), b(1), c = {Index{rank}}, d = {Index{-rank}};
  const Work from_other = receive_async(other, b, previous), from_world = receive_async(world(), a, previous);
  const Work to_world = send_async(world(), c, next), to_other = send_async(other, d, next);
  EXPECT_EQ(sum(other, 1), ranks);
  EXPECT_EQ(sum(world(), 1), ranks);
  for (const Work& work : {from_other, from_world, to_world, to_other}) work.wait();
  EXPECT_EQ(a[0], previous);
  EXPECT_EQ(b[0], -previous);
}

TEST(PointToPoint, RefusesWhatCannotBe) {
  std::vector<float> x(1);
  EXPECT_THROW(send_async(world(), x, world().size()), std::invalid_argument);
  EXPECT_THROW(send_async(world(), x, world().rank()), std::invalid_argument);
  EXPECT_THROW(receive_async(world(), x, -1), std::invalid_argument);
  const int next = (world().rank() + 1) % world().size();
  EXPECT_THROW(send_async(world(), x, next, Comm::kNumTags), std::invalid_argument);
  EXPECT_THROW(receive_async(world(), x, next, -1), std::invalid_argument);
}

}  // namespace
}  // namespace tessera::dist
