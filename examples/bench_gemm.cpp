#include "examples/bench_gemm.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <vector>

#include "examples/files.h"
#include "examples/gemm_peak.h"
#include "tensor/context.h"

namespace tessera {
namespace {

/// y_no = x_nc w_oc^T.
struct LinearShape {
  std::string what;
  Index rows, outputs, inputs;
};

std::vector<LinearShape> shapes(const nn::ModelConfig& config, Index batch) {
  std::vector<LinearShape> result;
  for (const Index n : {256, 512, 768, 1024}) result.push_back({fmt::format("{} cubed", n), n, n, n});
  const Index rows = batch * config.context, kv_width = config.kv_heads * config.head_dim();
  result.push_back({"query, out", rows, config.dim, config.dim});
  if (kv_width != config.dim) result.push_back({"key, value", rows, kv_width, config.dim});
  result.push_back({"MLP up", rows, config.ffn_dim, config.dim});
  result.push_back({"MLP down", rows, config.dim, config.ffn_dim});
  result.push_back({"head", rows, config.vocab, config.dim});
  return result;
}

/// FLOP/s of the layer's products.
struct Rates {
  double forward, input_gradient, weight_gradient;
};

Rates rates(const LinearShape& s, DType dtype) {
  return {gemm_rate({s.rows, s.outputs, s.inputs, false, true}, dtype),   // y = x w^T
          gemm_rate({s.rows, s.inputs, s.outputs, false, false}, dtype),  // dx = dy w
          gemm_rate({s.outputs, s.inputs, s.rows, true, false}, dtype)};  // dw = dy^T x
}

}  // namespace

void bench_gemm(const BenchOptions& options) {
  const nn::ModelConfig config = configure(options.model);
  check_writable_file("--json", options.json);
  nlohmann::json results = nlohmann::json::array();
  fmt::print("GFLOP/s in {}, {} threads\n{:<12}{:>7}{:>9}{:>8}{:>12}{:>10}{:>12}\n", to_string(options.dtype),
             context().threads, "layer", "rows", "outputs", "inputs", "y = x w^T", "dx = dy w",
             "dw = dy^T x");
  for (const LinearShape& s : shapes(config, options.batch)) {
    const Rates r = rates(s, options.dtype);
    fmt::print("{:<12}{:>7}{:>9}{:>8}{:>12.1f}{:>10.1f}{:>12.1f}\n", s.what, s.rows, s.outputs, s.inputs,
               r.forward / 1e9, r.input_gradient / 1e9, r.weight_gradient / 1e9);
    results.push_back({{"layer", s.what},
                       {"rows", s.rows},
                       {"outputs", s.outputs},
                       {"inputs", s.inputs},
                       {"forward_flops", r.forward},
                       {"input_gradient_flops", r.input_gradient},
                       {"weight_gradient_flops", r.weight_gradient}});
  }
  if (!options.json.empty()) write_file(options.json, nlohmann::json{{"results", results}}.dump(1) + "\n");
}

}  // namespace tessera
