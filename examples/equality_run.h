#pragma once

#include <string>
#include <vector>

#include "dist/parallel/parallelize.h"
#include "examples/layout.h"

namespace tessera {

inline constexpr double kEqualityLr = 0.1;
inline constexpr Index kEqualitySteps = 3;

/// What is trained, alike on any layout: weights of std 0.2, so that attention is not uniform and every path
/// carries gradient; sequences with unequal numbers of targets, some with none; three steps of SGD with
/// clipping.
struct EqualityCase {
  nn::ModelConfig config;
  Index batch = 4;  ///< sequences
  std::uint64_t seed = 11;
};

/// How a layout is run, besides what it says itself.
struct EqualityOptions {
  DType dtype = DType::f64;
  Index bucket_bytes = 4 << 10;  ///< several buckets even in a tiny model
  bool overlap = true;
  dist::CollectiveOptions collectives{};
};

/// What a run computed. Tensors are one per parameter, in the model's order: of the whole, or of the owned
/// box.
struct Trace {
  std::vector<double> losses, norms;  ///< of each step
  std::vector<Tensor> initial;        ///< weights
  std::vector<Tensor> grads;          ///< of the first step
  std::vector<Tensor> updated;        ///< weights after the last
};

/// The run of one rank by itself. Each rank makes its own, so nothing that travels can spoil it.
Trace reference(const EqualityCase& what, DType dtype);

/// The run of a layout, on all ranks, and what they hold.
struct LayoutRun {
  Trace trace;  ///< of the owned boxes
  nn::Parameters parameters;
  bool replicas_equal = false;  ///< owned boxes of ranks that replicate each other: the same bits at the end
  std::string problem;          ///< if sharding was asked for and did not happen: where
};
/// Collective. @throws std::invalid_argument for a layout that cannot be.
LayoutRun run_layout(const EqualityCase& what, const Layout& layout, const EqualityOptions& options,
                     const dist::Comm& world);

bool same_bits(const Tensor& a, const Tensor& b);

/// Where a parameter is held otherwise than a ZeRO level over `ranks` ranks asks for; empty if nowhere.
std::string sharding_problem(const nn::Parameters& parameters, int level, int ranks, int rank);

}  // namespace tessera
