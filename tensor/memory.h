#pragma once

#include <array>
#include <cstddef>

#include "tensor/shape.h"

namespace tessera {

/// What a byte of tensor memory is for.
enum class Category { parameter, gradient, optimizer, activation, communication, scratch };
inline constexpr int kNumCategories = 6;
const char* to_string(Category category);

/// Bytes of tensor storage that are live now and at most so far, by category and in all.
class Ledger {
 public:
  void add(Category category, Index bytes);
  Index current_bytes(Category category) const { return current_[index(category)]; }
  Index peak_bytes(Category category) const { return peak_[index(category)]; }
  Index current_bytes() const { return total_; }
  /// The most that was live at one moment; less than the sum of the categories' own peaks.
  Index peak_bytes() const { return total_peak_; }
  /// Starts measuring peaks again from what is live now.
  void reset_peaks();

 private:
  static std::size_t index(Category category) { return static_cast<std::size_t>(category); }
  std::array<Index, kNumCategories> current_{}, peak_{};
  Index total_ = 0, total_peak_ = 0;
};

/// Storages and slices of buffers start at a multiple of this: a vector load never straddles a cache line.
inline constexpr Index kAlignment = 64;

/// Memory of at least `bytes`, aligned, uninitialised. From one growing region of address space whose freed
/// blocks merge and are used again (best fit), so a training step that repeats takes nothing from the system.
/// Thread-safe.
/// @throws std::bad_alloc
void* allocate(Index bytes);
/// Gives back what allocate(bytes) returned.
void deallocate(void* data, Index bytes);

/// Bytes of the region that have been handed out at least once: what tensors can cost in resident memory.
Index reserved_bytes();

}  // namespace tessera
