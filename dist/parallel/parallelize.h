#pragma once

#include "dist/comm/collectives.h"
#include "dist/comm/mesh.h"
#include "dist/parallel/layout_report.h"
#include "nn/train_step.h"

namespace tessera::dist {

struct ParallelOptions {
  std::uint64_t seed = 1;
  DType dtype = DType::f32;
  double std_override = 0;          ///< see nn::materialize
  int zero = 0;                     ///< level: see zero.h
  Index bucket_bytes = 2 << 20;     ///< of gradients that are sent together; level 3 sends a block's
  bool overlap = true;              ///< see GradientOptions and FullySharded
  CollectiveOptions collectives{};  ///< of gradients and parameters
};

/// A model made parallel: what its steps exchange with other ranks, and what this rank holds of it.
struct Parallel {
  nn::StepExchange exchange;
  LayoutReport report;
};

/// Makes a model that has no storage yet parallel over the mesh, in this order: what narrows used boxes
/// (pipeline, expert, tensor), what deals the batch (context, data), what narrows owned boxes (ZeRO), then
/// storage, then what brings parameters (fully sharded), then the gradient finaliser. So far there are data
/// parallelism and ZeRO; the rest is refused.
///
/// Collective over the mesh. @throws std::invalid_argument for what cannot be done: nothing is left out
/// silently.
Parallel parallelize(nn::Transformer& model, const Mesh& mesh, const ParallelOptions& options);

}  // namespace tessera::dist
