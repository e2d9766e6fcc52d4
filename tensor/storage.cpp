#include "tensor/storage.h"

#include <stdexcept>

#include "tensor/context.h"

namespace tessera {

Storage::Storage(Index bytes, Category category) : bytes_(bytes), category_(category) { refill(); }

void Storage::release() {
  if (data_ == nullptr) return;
  deallocate(data_, bytes_);
  data_ = nullptr;
  context().ledger.add(category_, -bytes_);
}

void Storage::refill() {
  if (data_ != nullptr) return;
  data_ = allocate(bytes_);
  context().ledger.add(category_, bytes_);
}

void Storage::fill() {
  if (!recipe_) throw std::logic_error("[Storage] data() of a released storage that has no recipe");
  refill();
  const NoGrad no_grad;
  try {
    recipe_(data_);
  } catch (...) {
    release();
    throw;
  }
}

}  // namespace tessera
