#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "nn/box.h"
#include "tensor/tensor.h"

namespace tessera::nn {

/// Element i of a parameter starts as mean + std * normal(i) of the stream (seed, name): whoever holds it
/// draws the same.
struct Recipe {
  double mean = 0, std = 0;
};

/// One parameter as this process holds it. Strategies narrow `used` and `owned` before materialize() makes
/// storage.
struct Parameter {
  std::string name;  ///< global and unique, e.g. "blocks.3.attention.q.weight"
  Shape global_shape;
  Recipe recipe;
  Box used;   ///< the part this process computes with (after tensor, pipeline, expert sharding)
  Box owned;  ///< the rows of `used` it updates and saves; all of them without ZeRO
  /// The owned rows have memory of their own, and the used box has none until somebody fills it (fully
  /// sharded).
  bool owned_apart = false;

  Tensor value;        ///< the used box; a leaf that wants a gradient. Undefined until materialize()
  Tensor owned_value;  ///< the owned box; shares value's memory where that holds it
  Tensor
      owned_grad;  ///< the finished gradient of the owned box; set between backward and the optimizer's step

  Parameter(std::string name, const Shape& global_shape, Recipe recipe);
  /// Weight decay is for matrices: two or more global dims. Norms and biases keep their size.
  bool decays() const { return global_shape.num_dims() >= 2; }
  Index first_owned_row() const { return owned.offset.dim(0) - used.offset.dim(0); }
  /// The owned rows of a tensor that holds the used box.
  Tensor owned_rows(const Tensor& of_used) const;
};

using ParameterPtr = std::shared_ptr<Parameter>;
using Parameters = std::vector<ParameterPtr>;

/// Makes storage and fills it by the recipes: the used boxes, or the owned ones where they are kept apart.
/// The same bits for every way to cut the boxes; f32 values are the rounded f64 ones. @param std_override if
/// positive: std of every element (its recipe's mean kept), for verification.
void materialize(const Parameters& parameters, std::uint64_t seed, DType dtype, double std_override = 0);

/// The values of a box of a parameter, by its recipe.
Tensor draw(const Parameter& parameter, const Box& box, std::uint64_t seed, DType dtype,
            double std_override = 0);

/// Drops all gradients.
void zero_grad(const Parameters& parameters);
/// The tensors themselves, as backward wants them.
std::vector<Tensor> values(const Parameters& parameters);
/// Elements of their used boxes.
Index count_elements(const Parameters& parameters);

}  // namespace tessera::nn
