#include "tensor/memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cassert>
#include <map>
#include <mutex>
#include <new>
#include <set>
#include <utility>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif

namespace tessera {

const char* to_string(Category category) {
  static constexpr std::array kNames = {"parameter",  "gradient",      "optimizer",
                                        "activation", "communication", "scratch"};
  return kNames[static_cast<std::size_t>(category)];
}

void Ledger::add(Category category, Index bytes) {
  const std::size_t i = index(category);
  current_[i] += bytes;
  total_ += bytes;
  peak_[i] = std::max(peak_[i], current_[i]);
  total_peak_ = std::max(total_peak_, total_);
}

void Ledger::reset_peaks() {
  peak_ = current_;
  total_peak_ = total_;
}

namespace {

// AddressSanitizer cannot see into our region, so free blocks are poisoned by hand and blocks keep a gap
// between them.
#if defined(__SANITIZE_ADDRESS__)
constexpr Index kGap = kAlignment;
void poison(const void* data, Index bytes) {
  __asan_poison_memory_region(data, static_cast<std::size_t>(bytes));
}
void unpoison(const void* data, Index bytes) {
  __asan_unpoison_memory_region(data, static_cast<std::size_t>(bytes));
}
#else
constexpr Index kGap = 0;
void poison(const void*, Index) {}
void unpoison(const void*, Index) {}
#endif

Index block_bytes(Index bytes) {
  return (std::max<Index>(bytes, 1) + kAlignment - 1) / kAlignment * kAlignment + kGap;
}

/// One region of reserved address space. Blocks below `top_` are live or in the free lists; above it nothing
/// was touched.
class Region {
 public:
  Region() {
    // Address space costs nothing until touched. A limit on it (ulimit -v) makes us ask for less.
    for (limit_ = Index{1} << 40; limit_ >= Index{1} << 30; limit_ /= 2) {
      void* base = mmap(nullptr, static_cast<std::size_t>(limit_), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      if (base == MAP_FAILED) continue;
      madvise(base, static_cast<std::size_t>(limit_),
              MADV_HUGEPAGE);  // packing for GEMMs strides over many pages
      base_ = static_cast<std::byte*>(base);
      return;
    }
    throw std::bad_alloc();
  }

  void* allocate(Index bytes) {
    const std::lock_guard lock(mutex_);
    const auto fit = by_size_.lower_bound({bytes, 0});
    const Index offset = fit != by_size_.end() ? take(fit->second, bytes) : grow(bytes);
    return base_ + offset;
  }

  void deallocate(void* data, Index bytes) {
    const std::lock_guard lock(mutex_);
    Index offset = static_cast<std::byte*>(data) - base_;
    assert(offset >= 0 && offset + bytes <= top_);
    const auto next = by_offset_.lower_bound(offset);
    if (next != by_offset_.end() && next->first == offset + bytes) bytes += remove(next->first);
    const auto previous = by_offset_.lower_bound(offset);
    if (previous != by_offset_.begin()) {
      const auto [start, length] = *std::prev(previous);
      if (start + length == offset) bytes += remove(start), offset = start;
    }
    insert(offset, bytes);
  }

  Index top() const { return top_; }

 private:
  void insert(Index offset, Index bytes) {
    by_offset_[offset] = bytes;
    by_size_.insert({bytes, offset});
  }
  Index remove(Index offset) {
    const auto block = by_offset_.find(offset);
    const Index bytes = block->second;
    by_size_.erase({bytes, offset});
    by_offset_.erase(block);
    return bytes;
  }
  Index take(Index offset, Index bytes) {
    const Index found = remove(offset);
    if (found > bytes) insert(offset + bytes, found - bytes);
    return offset;
  }
  Index grow(Index bytes) {
    Index offset = top_;
    // A free block that touches the top is the start of the new one.
    if (!by_offset_.empty()) {
      const auto [start, length] = *by_offset_.rbegin();
      if (start + length == top_) offset = start;
    }
    if (bytes > limit_ - offset) throw std::bad_alloc();
    if (offset < top_) remove(offset);
    top_ = offset + bytes;
    return offset;
  }

  std::mutex mutex_;
  std::byte* base_ = nullptr;
  Index limit_ = 0, top_ = 0;
  std::map<Index, Index> by_offset_;           // free blocks: offset -> bytes, never two that touch
  std::set<std::pair<Index, Index>> by_size_;  // the same as (bytes, offset): best fit, lowest address first
};

/// Never destroyed: like the system's heap, it must outlive every tensor.
Region& region() {
  static Region& instance = *new Region;
  return instance;
}

}  // namespace

void* allocate(Index bytes) {
  void* data = region().allocate(block_bytes(bytes));
  unpoison(data, bytes);
  return data;
}

void deallocate(void* data, Index bytes) {
  poison(data, block_bytes(bytes));
  region().deallocate(data, block_bytes(bytes));
}

Index reserved_bytes() { return region().top(); }

}  // namespace tessera
