#pragma once

#include <memory>
#include <utility>

#include "nn/parameter.h"

namespace tessera::nn {

/// A piece of a model that maps a tensor to a tensor, and that a strategy can swap for another.
class Module {
 public:
  Module() = default;
  virtual ~Module() = default;
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  virtual Tensor forward(const Tensor& x) = 0;
  /// Appends the parameters in use here, in a fixed order.
  virtual void collect(Parameters& into) const = 0;
  /// What the layout report calls it.
  virtual std::string type() const = 0;
};

/// A swappable place for a module.
using Layer = std::unique_ptr<Module>;

}  // namespace tessera::nn
