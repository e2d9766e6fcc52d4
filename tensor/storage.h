#pragma once

#include <functional>

#include "tensor/memory.h"

namespace tessera {

/// A block of tensor memory, counted in the ledger of the thread that made it. It can be released and filled
/// again while tensors go on pointing at it: gathered parameters come and go this way, and so do recomputed
/// activations.
class Storage {
 public:
  Storage(Index bytes, Category category);
  ~Storage() { release(); }
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;

  Index bytes() const { return bytes_; }
  Category category() const { return category_; }
  bool released() const { return data_ == nullptr; }

  /// The memory. A released storage with a recipe is filled by it first.
  /// @throws std::logic_error for a released storage without a recipe.
  void* data() {
    if (data_ == nullptr) fill();
    return data_;
  }

  /// Gives the memory back; what it held is lost. Nothing if released.
  void release();
  /// Memory again, uninitialised. Nothing if not released.
  void refill();
  /// How to compute the contents again: called with refilled memory by the first use after a release.
  /// The recipe must not hold this storage.
  void set_recipe(std::function<void(void*)> recipe) { recipe_ = std::move(recipe); }
  bool has_recipe() const { return static_cast<bool>(recipe_); }

 private:
  void fill();

  void* data_ = nullptr;
  Index bytes_;
  Category category_;
  std::function<void(void*)> recipe_;
};

}  // namespace tessera
