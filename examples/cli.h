#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "dist/comm/diagnosis.h"
#include "dist/comm/mesh.h"
#include "nn/block.h"
#include "nn/config.h"
#include "nn/generate.h"
#include "nn/optimizer.h"
#include "nn/schedule.h"
#include "tensor/dtype.h"

namespace CLI {
class App;
}

namespace tessera {

/// A preset or a file, and what to change in it.
struct ModelOptions {
  std::string model = "gpt-nano";
  std::optional<Index> layers{}, dim{}, heads{}, kv_heads{}, ffn_dim{}, context{}, vocab{};
  std::optional<nn::Norm> norm{};
  std::optional<nn::Position> position{};
  std::optional<nn::MlpKind> mlp{};
  std::optional<bool> tied{};
  std::optional<double> dropout{};
};

/// The model the options describe. Another dim keeps the ratio of ffn_dim to dim; where kv_heads equals heads
/// it goes on doing so. @throws std::invalid_argument for an unknown model or what nn::validate refuses.
nn::ModelConfig configure(const ModelOptions& options);

/// Cores of the affinity mask.
int default_threads();

/// Of how many steps train --trace keeps a timeline: enough to see, and few enough for viewers.
inline constexpr Index kTracedSteps = 20;

struct TrainOptions {
  ModelOptions model;
  dist::Degrees degrees;
  int zero = 0;
  double bucket_mb = 2;
  dist::Algorithm algorithm = dist::Algorithm::automatic;
  dist::Diagnosis diagnosis;
  Index microbatches = 1;
  nn::Recompute recompute = nn::Recompute::none;
  std::string data;  ///< empty: the corpus that is built in
  Index batch = 32, steps = 300;
  std::optional<Index> eval_every;  ///< default: 5 times per run
  double lr = 4e-3;
  Index warmup = 30;
  nn::Decay lr_decay = nn::Decay::cosine;
  nn::OptimizerOptions optimizer;
  double clip = 1;
  std::uint64_t seed = 1;
  DType dtype = DType::f32;
  std::optional<int> threads;  ///< default: the node's cores, shared among its ranks
  std::string network, save, resume, json, trace, report;  ///< empty: not asked for
  std::optional<Index> save_every;                         ///< default: at the end alone

  bool wants_timeline() const { return !trace.empty() || !report.empty(); }
  Index steps_between_validations() const { return eval_every.value_or((steps + 4) / 5); }
  bool bytes_as_tokens() const { return !data.ends_with(".u16"); }
};

struct VerifyOptions {
  ModelOptions model{.model = "gpt-tiny"};
  std::string layout;  ///< empty: all there are
  Index batch = 4;
  double bucket_mb = 0.004;  ///< several buckets even in a tiny model
  dist::Algorithm algorithm = dist::Algorithm::automatic;
  std::uint64_t seed = 11;
  std::optional<int> threads;
  std::string json;
};

/// Bytes of so many MiB, at least 1.
Index bytes_of_mb(double mb);

struct GenerateOptions {
  std::string checkpoint, prompt = "The ";
  nn::SamplingOptions sampling;
  int threads = default_threads();
};

/// bench collectives.
struct CollectiveBenchOptions {
  std::vector<dist::Kind> ops = {dist::Kind::all_reduce, dist::Kind::reduce_scatter, dist::Kind::all_gather,
                                 dist::Kind::broadcast,  dist::Kind::reduce,         dist::Kind::gather,
                                 dist::Kind::scatter,    dist::Kind::all_to_all,     dist::Kind::barrier};
  std::vector<Index> bytes = {8,         64,      512,     4 << 10,  16 << 10, 64 << 10,
                              256 << 10, 1 << 20, 4 << 20, 16 << 20, 64 << 20};
  std::vector<std::string> algorithms{};  ///< and yardsticks; none: all
  int calls = 0, rounds = 5;
  int ranks_per_node = 0;
  std::string network, json;  ///< empty: not asked for
};

struct BenchOptions {
  enum class Kind { step, gemm, overlap, collectives } kind = Kind::step;
  CollectiveBenchOptions collectives;
  ModelOptions model;
  nn::Recompute recompute = nn::Recompute::none;
  Index batch = 16, steps = 10, warmup_steps = 3;
  int zero = 0;
  double bucket_mb = 2;
  dist::Algorithm algorithm = dist::Algorithm::automatic;
  DType dtype = DType::f32;
  std::optional<int> threads;  ///< default: the node's cores, shared among its ranks
  std::string network, json;
};

/// What to ask the planner. Texts go to it as they are, units and all: it says what they may be.
struct PlanOptions {
  std::string command, model, hardware, network, run, request, json, report;
  std::map<std::string, std::string> texts;  ///< by the names of dist/plan's queries
  std::vector<std::string> switches;         ///< those that were given
};

/// The flags of a program: parsing sets `options`, which must outlive `app`.
void add_flags(CLI::App& app, TrainOptions& options);
void add_flags(CLI::App& app, VerifyOptions& options);
void add_flags(CLI::App& app, GenerateOptions& options);
void add_flags(CLI::App& app, BenchOptions& options);
void add_flags(CLI::App& app, PlanOptions& options);

}  // namespace tessera
