#pragma once

// Every op of tensor/ops.h with the sizes it is tested at: ordinary, odd, none. A new op is a row or two.

#include <ostream>

#include "tensor/ops.h"
#include "tests/tensor/gradcheck.h"

namespace tessera::testing {

/// A differentiable function and the shapes of the inputs it is tested with.
struct OpCase {
  const char* name;
  Function f;
  std::vector<Shape> inputs;
};
inline std::ostream& operator<<(std::ostream& out, const OpCase& row) { return out << row.name; }

inline DropoutMask mask_of(const std::vector<std::int32_t>& sequences,
                           const std::vector<std::int32_t>& positions, Index num_positions,
                           Index first_col = 0, Index num_cols = 0) {
  return {.stream = RandomStream(11, "mask", 3),
          .sequences = ints(sequences),
          .positions = ints(positions),
          .num_positions = num_positions,
          .first_col = first_col,
          .num_cols = num_cols};
}

inline std::vector<OpCase> op_cases() {
  using In = const std::vector<Tensor>&;
  const auto linear_xw = [](In in) { return linear(in[0], in[1]); };
  const auto linear_xwb = [](In in) { return linear(in[0], in[1], in[2]); };
  const auto add_xy = [](In in) { return add(in[0], in[1]); };
  const auto gelu_x = [](In in) { return gelu(in[0]); };
  const auto swiglu_gu = [](In in) { return swiglu(in[0], in[1]); };
  const auto layer_norm_xwb = [](In in) { return layer_norm(in[0], in[1], in[2], 1e-5); };
  const auto rms_norm_xw = [](In in) { return rms_norm(in[0], in[1], 1e-5); };

  const auto embedding_of = [](const Tensor& tokens) {
    return [=](In in) { return embedding(tokens, in[0]); };
  };
  const auto positions_at = [](const Tensor& positions) {
    return [=](In in) { return add_positions(in[0], in[1], positions); };
  };
  const auto rope_at = [](const Tensor& positions, Index head_dim) {
    return [=](In in) { return rope(in[0], positions, head_dim, 100); };
  };
  const auto dropout_by = [](const DropoutMask& mask) {
    return [=](In in) { return dropout(in[0], 0.4, mask); };
  };
  const auto attention_of = [](Index head_dim) {
    return [=](In in) { return attention(in[0], in[1], in[2], head_dim); };
  };
  const auto cross_entropy_of = [](const Tensor& targets) {
    return [=](In in) { return cross_entropy(in[0], targets); };
  };

  return {
      {"linear", linear_xwb, {{2, 4, 8}, {6, 8}, {6}}},
      {"linear_without_bias", linear_xw, {{4, 8}, {6, 8}}},
      {"linear_odd", linear_xwb, {{3, 37}, {5, 37}, {5}}},
      {"linear_single", linear_xwb, {{1, 1}, {1, 1}, {1}}},
      {"linear_empty", linear_xwb, {{0, 5}, {7, 5}, {7}}},
      {"add", add_xy, {{4, 8}, {4, 8}}},
      {"add_odd", add_xy, {{3, 37}, {3, 37}}},
      {"add_to_itself", [](In in) { return add(in[0], in[0]); }, {{3, 5}}},
      {"add_empty", add_xy, {{0, 5}, {0, 5}}},
      {"gelu", gelu_x, {{4, 8}}},
      {"gelu_odd", gelu_x, {{3, 37}}},
      {"gelu_empty", gelu_x, {{0, 5}}},
      {"swiglu", swiglu_gu, {{4, 8}, {4, 8}}},
      {"swiglu_odd", swiglu_gu, {{3, 37}, {3, 37}}},
      {"swiglu_empty", swiglu_gu, {{0, 5}, {0, 5}}},
      {"layer_norm", layer_norm_xwb, {{2, 4, 8}, {8}, {8}}},
      {"layer_norm_odd", layer_norm_xwb, {{3, 37}, {37}, {37}}},
      {"layer_norm_empty", layer_norm_xwb, {{0, 5}, {5}, {5}}},
      {"rms_norm", rms_norm_xw, {{2, 4, 8}, {8}}},
      {"rms_norm_odd", rms_norm_xw, {{3, 37}, {37}}},
      {"rms_norm_empty", rms_norm_xw, {{0, 5}, {5}}},
      {"embedding", embedding_of(ints({2, 0, 2, 6, 2, 1}).view({2, 3})), {{7, 4}}},
      {"embedding_odd", embedding_of(ints({36, 0, 36})), {{37, 5}}},
      {"embedding_empty", embedding_of(ints({})), {{7, 5}}},
      {"add_positions", positions_at(ints({0, 1, 2, 3})), {{2, 4, 8}, {4, 8}}},
      {"add_positions_odd", positions_at(ints({6, 2, 6})), {{3, 3, 5}, {7, 5}}},
      {"add_positions_empty", positions_at(ints({0, 1})), {{0, 2, 5}, {7, 5}}},
      {"rope", rope_at(ints({0, 1, 2, 3}), 4), {{2, 4, 8}}},
      {"rope_odd", rope_at(ints({9, 0, 4}), 6), {{1, 3, 18}}},
      {"rope_empty", rope_at(ints({0, 1}), 4), {{0, 2, 8}}},
      {"dropout", dropout_by(mask_of({0, 1}, {0, 1, 2, 3}, 4)), {{2, 4, 8}}},
      {"dropout_odd", dropout_by(mask_of({5}, {1, 6, 2}, 7, 3, 90)), {{1, 3, 37}}},
      {"dropout_empty", dropout_by(mask_of({}, {0, 1}, 2)), {{0, 2, 5}}},
      {"attention", attention_of(4), {{2, 6, 16}, {2, 6, 8}, {2, 6, 8}}},
      {"attention_odd", attention_of(5), {{1, 7, 15}, {1, 7, 5}, {1, 7, 5}}},
      {"attention_no_sequence", attention_of(4), {{0, 3, 8}, {0, 3, 8}, {0, 3, 8}}},
      {"attention_no_position", attention_of(4), {{2, 0, 8}, {2, 0, 8}, {2, 0, 8}}},
      {"cross_entropy", cross_entropy_of(ints({7, 0, 3, 3})), {{4, 8}}},
      {"cross_entropy_odd", cross_entropy_of(ints({36, -1, 5})), {{3, 37}}},
      {"cross_entropy_empty", cross_entropy_of(ints({})), {{0, 5}}},
  };
}

/// Output and gradients of one forward and backward.
struct Result {
  Tensor y;
  std::vector<Tensor> gradients;
};
inline Result run(const Function& f, const std::vector<Tensor>& inputs) {
  const Tensor y = f(inputs);
  backward(y, output_weights(y));
  Result result{y.detach(), {}};
  for (const Tensor& x : inputs) result.gradients.push_back(grad_or_zero(x));
  return result;
}

}  // namespace tessera::testing
