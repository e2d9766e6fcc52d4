// The ledger, the allocator, and storages that come and go under living handles.

#include "tensor/memory.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <thread>
#include <vector>

#include "tensor/context.h"
#include "tensor/tensor.h"

namespace tessera {
namespace {

constexpr Index kMiB = Index{1} << 20;

TEST(Ledger, CountsCategoriesAndTotal) {
  Ledger ledger;
  ledger.add(Category::parameter, 100);
  ledger.add(Category::scratch, 50);
  ledger.add(Category::scratch, -50);
  ledger.add(Category::activation, 30);
  EXPECT_EQ(ledger.current_bytes(Category::parameter), 100);
  EXPECT_EQ(ledger.current_bytes(Category::scratch), 0);
  EXPECT_EQ(ledger.current_bytes(), 130);
  EXPECT_EQ(ledger.peak_bytes(Category::scratch), 50);
  EXPECT_EQ(ledger.peak_bytes(), 150) << "less than the sum of peaks, 180";

  ledger.reset_peaks();
  EXPECT_EQ(ledger.peak_bytes(Category::scratch), 0);
  EXPECT_EQ(ledger.peak_bytes(), 130);
}

TEST(Ledger, FollowsTensors) {
  const Ledger& ledger = context().ledger;
  for (const Category category : {Category::parameter, Category::gradient, Category::optimizer,
                                  Category::activation, Category::communication, Category::scratch}) {
    const Index before = ledger.current_bytes(category), total = ledger.current_bytes();
    {
      const Tensor x({3, 5}, DType::f64, category), part = x.slice(1, 2), copy = x;
      EXPECT_EQ(ledger.current_bytes(category) - before, 120) << to_string(category);
      x.storage()->release();
      EXPECT_EQ(ledger.current_bytes(category), before);
      x.storage()->refill();
    }
    EXPECT_EQ(ledger.current_bytes(category), before);
    EXPECT_EQ(ledger.current_bytes(), total);
    EXPECT_GE(ledger.peak_bytes(category), before + 120);
  }
}

TEST(Ledger, CountsGradientsAsTheirLeafAsks) {
  const Index before = context().ledger.current_bytes(Category::gradient);
  Tensor x({3, 5}, DType::f32, Category::parameter);
  x.require_grad();
  EXPECT_FALSE(x.grad().defined());
  EXPECT_EQ(context().ledger.current_bytes(Category::gradient), before) << "nothing until something is added";
}

TEST(Allocator, AlignsAndNeverOverlaps) {
  std::vector<std::pair<unsigned char*, Index>> blocks;
  for (const Index bytes : {0, 1, 63, 64, 65, 1000, 4096, 0}) {
    auto* data = static_cast<unsigned char*>(allocate(bytes));
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(data) % kAlignment, 0U);
    std::memset(data, static_cast<int>(blocks.size()), static_cast<std::size_t>(bytes));
    blocks.emplace_back(data, bytes);
  }
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const auto [data, bytes] = blocks[i];
    for (Index j = 0; j < bytes; ++j) ASSERT_EQ(data[j], i);
    deallocate(data, bytes);
  }
}

/// A training step in miniature: blocks of many sizes, freed in another order.
void step() {
  std::vector<std::pair<void*, Index>> live;
  for (Index i = 0; i < 200; ++i) {
    live.emplace_back(allocate(i * 997 % 5000), i * 997 % 5000);
    if (i % 3 == 2) {
      const auto victim = live.begin() + i * 31 % std::ssize(live);
      deallocate(victim->first, victim->second);
      live.erase(victim);
    }
  }
  for (const auto& [data, bytes] : live) deallocate(data, bytes);
}

TEST(Allocator, RepeatedStepsTakeNothingMore) {
  step();
  const Index after_one = reserved_bytes();
  for (int i = 0; i < 20; ++i) step();
  EXPECT_EQ(reserved_bytes(), after_one);
}

// Larger than anything freed before, so they lie side by side; untouched, so they cost no memory.
TEST(Allocator, MergesNeighboursInAnyOrder) {
  const std::vector<std::vector<std::size_t>> orders = {{0, 1, 2}, {2, 1, 0}, {0, 2, 1}, {1, 0, 2}};
  for (const auto& order : orders) {
    void* blocks[] = {allocate(64 * kMiB), allocate(64 * kMiB), allocate(64 * kMiB)};
    for (const std::size_t i : order) deallocate(blocks[i], 64 * kMiB);
    const Index before = reserved_bytes();
    deallocate(allocate(192 * kMiB), 192 * kMiB);
    EXPECT_EQ(reserved_bytes(), before);
  }
}

TEST(Allocator, GrowsFromTheFreeBlockAtTheTop) {
  deallocate(allocate(256 * kMiB), 256 * kMiB);
  const Index before = reserved_bytes();
  deallocate(allocate(before + kMiB), before + kMiB);
  EXPECT_LT(reserved_bytes(), 2 * before) << "256 MiB of the new block were there already";
}

TEST(Allocator, RefusesWhatNoMachineHas) { EXPECT_THROW(allocate(Index{1} << 45), std::bad_alloc); }

TEST(Allocator, ServesThreads) {
  const auto work = [](unsigned char mark) {
    for (int round = 0; round < 200; ++round) {
      auto* data = static_cast<unsigned char*>(allocate(1000));
      std::memset(data, mark, 1000);
      for (int i = 0; i < 1000; ++i) ASSERT_EQ(data[i], mark);
      deallocate(data, 1000);
    }
  };
  std::thread other(work, 1);
  work(2);
  other.join();
}

TEST(Storage, ComesAndGoesUnderLivingHandles) {
  const Tensor x = Tensor::from<float>({2, 2}, {1, 2, 3, 4}), row = x.slice(1, 2);
  x.storage()->release();
  EXPECT_TRUE(row.storage()->released());
  x.storage()->release();  // nothing

  row.storage()->refill();
  x.fill(7);
  row.storage()->refill();  // nothing: the sevens stay
  EXPECT_EQ(row.data<float>()[1], 7);
}

TEST(Storage, ReleasedWithoutRecipeThrows) {
  const Tensor x({2}, DType::f32);
  x.storage()->release();
  EXPECT_THROW(x.data<float>(), std::logic_error);
  EXPECT_TRUE(x.storage()->released());
}

TEST(Storage, RecipeFillsAtTheFirstUse) {
  int calls = 0;
  const Tensor x({3}, DType::f32);
  x.storage()->set_recipe([&](void* data) {
    ++calls;
    EXPECT_FALSE(context().grad_enabled);
    std::fill_n(static_cast<float*>(data), 3, 5.0f);
  });
  x.fill(1);
  EXPECT_EQ(calls, 0);
  x.storage()->release();
  EXPECT_EQ(x.slice(1, 3).data<float>()[1], 5);
  EXPECT_EQ(x.data<float>()[0], 5);
  EXPECT_EQ(calls, 1);
  EXPECT_FALSE(x.unique()) << "a recipe would restore what an op in place has overwritten";
}

TEST(Storage, FailedRecipeLeavesItReleased) {
  const Tensor x({3}, DType::f32);
  x.storage()->set_recipe([](void*) { throw std::runtime_error("no input"); });
  x.storage()->release();
  EXPECT_THROW(x.data<float>(), std::runtime_error);
  EXPECT_THROW(x.data<float>(), std::runtime_error) << "and not garbage the second time";
}

}  // namespace
}  // namespace tessera
