// Asynchronous collectives make progress during compute: ops and their ticks poll.

#include <cmath>

#include "dist/comm/collectives.h"
#include "tensor/context.h"
#include "tensor/ops.h"
#include "tests/dist/mpi_test.h"

namespace tessera::dist {
namespace {

constexpr Index kCount = 300'000;  // 5 default segments, and a part of one

/// Numbers whose sum depends on the order.
std::vector<float> numbers() {
  const auto rank = static_cast<float>(world().rank());
  std::vector<float> x(kCount);
  for (Index i = 0; i < kCount; ++i) x[i] = std::sin(static_cast<float>(i + 1) * (1.3F + rank));
  return x;
}

/// Compute that knows nothing of communication, until `work` is done; the number of its ops, or none if it
/// takes too many.
int compute_until_done(const Work& work) {
  constexpr int kTooMany = 200'000;
  const Tensor x = Tensor::zeros({64, 96}, DType::f32), w = Tensor::zeros({32, 96}, DType::f32);
  for (int ops = 0; ops < kTooMany; ++ops) {
    if (work.done()) return ops;
    linear(x, w);
  }
  return 0;
}

TEST(Overlap, CompletesDuringComputeWithoutWaiting) {
  if (world().size() == 1) return;
  for (const Algorithm algorithm : {Algorithm::ring, Algorithm::recursive_doubling}) {
    std::vector<float> x = numbers();
    const Work work = all_reduce_async(world(), x, {.algorithm = algorithm});
    EXPECT_NE(context().poll, nullptr);
    EXPECT_GT(compute_until_done(work), 0);
    EXPECT_EQ(context().poll, nullptr) << "nothing is under way";
    barrier(world());  // helps those whose compute has not seen the end yet
  }
}

TEST(Overlap, OnOrOffIsBitEqual) {
  for (const Algorithm algorithm : {Algorithm::ring, Algorithm::recursive_doubling})
    for (const Index segment_bytes : {10'000, 64 << 10, 256 << 10}) {
      const CollectiveOptions options{.algorithm = algorithm, .cutting = {.segment_bytes = segment_bytes}};
      std::vector<float> off = numbers(), on = numbers();
      all_reduce(world(), off, {.algorithm = algorithm});
      const Work work = all_reduce_async(world(), on, options);
      compute_until_done(work);
      work.wait();
      EXPECT_EQ(on, off) << to_string(algorithm) << ", segments of " << segment_bytes;
    }
}

}  // namespace
}  // namespace tessera::dist
