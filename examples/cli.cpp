#include "examples/cli.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <cmath>
#include <limits>
#include <sstream>

#include "dist/parallel/zero.h"
#include "nn/names.h"
#include "tensor/check.h"
#include "tensor/threads.h"

namespace tessera {
namespace {

constexpr nn::Named<DType> kDTypes[] = {{"f32", DType::f32}, {"f64", DType::f64}};
DType dtype_from(const std::string& name) { return nn::value_of("dtype", kDTypes, name); }

template <class T>
struct Range {
  T least, most;
};
constexpr Range<Index> kCount = {1, std::numeric_limits<std::int32_t>::max()};  // sequence numbers are i32
constexpr Range<Index> kCountOrNone = {0, kCount.most};
constexpr Range<int> kRanks = {0, std::numeric_limits<int>::max()};
constexpr Range<Index> kBufferBytes = {4, Index{1} << 33};  // MPI's own calls count floats in an int
constexpr Range<double> kNotNegative = {0, std::numeric_limits<double>::max()};
constexpr Range<double> kFraction = {0, 1};
constexpr Range<double> kMegabytes = {1e-6, 1e6};
constexpr Range<int> kZero = {0, dist::kZeroLevels - 1};
constexpr Range<std::uint64_t> kSeed = {0, std::numeric_limits<std::uint64_t>::max()};

template <class T>
std::string describe(const Range<T>& range) {
  if (std::is_floating_point_v<T> && range.most == std::numeric_limits<T>::max()) {
    return fmt::format("a finite number of at least {}", range.least);
  }
  return fmt::format("a {} from {} to {}", std::is_integral_v<T> ? "whole number" : "number", range.least,
                     range.most);
}

template <class T>
T parse_number(const std::string& flag, const std::string& text, const Range<T>& range) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  const bool inside = whole && value >= range.least && value <= range.most;  // nan is not
  check(inside, flag.c_str(), "got \"", text, "\", expected ", describe(range));
  return value;
}

/// Flags of one section of --help. Each sets a target when it is given; the target's value is the default
/// that is shown.
class Flags {
 public:
  Flags(CLI::App& app, std::string section) : app_(app), section_(std::move(section)) {}

  template <class T, class Target>
  CLI::Option* number(const std::string& flag, Target& target, const Range<T>& range,
                      const std::string& help) {
    const auto set = [flag, &target, range](const std::string& text) {
      target = parse_number<T>(flag, text, range);
    };
    return add(flag, set, help, "N", target);
  }

  template <class T, class Target>
  CLI::Option* choice(const std::string& flag, Target& target, T (*from)(const std::string&),
                      const char* names, const std::string& help) {
    const auto set = [&target, from](const std::string& text) { target = from(text); };
    return add(flag, set, help, names, target);
  }

  /// Several, with commas between them.
  template <class T, class Parse>
  CLI::Option* list(const std::string& flag, std::vector<T>& target, Parse parse, const char* type,
                    const std::string& help) {
    const auto set = [&target, parse](const std::string& text) {
      target.clear();
      std::istringstream words(text);
      for (std::string word; std::getline(words, word, ',');) target.push_back(parse(word));
    };
    return app_.add_option_function<std::string>(flag, set, help)->type_name(type)->group(section_);
  }

  CLI::Option* text(const std::string& flag, std::string& target, const char* type, const std::string& help) {
    const auto set = [flag, &target, type](const std::string& text) {
      check(!text.empty(), flag.c_str(), "got \"\", expected ", type);
      target = text;
    };
    return add(flag, set, help, type, target);
  }

  /// Without a value on the command line: sets the target to `value`.
  template <class Target>
  CLI::Option* flag(const std::string& name, Target& target, bool value, const std::string& help) {
    const std::function<void()> set = [&target, value] { target = value; };
    return app_.add_flag_callback(name, set, help)->group(section_);
  }

 private:
  template <class Target>
  CLI::Option* add(const std::string& flag, const std::function<void(const std::string&)>& set,
                   const std::string& help, const char* type, const Target& target) {
    auto* option = app_.add_option_function<std::string>(flag, set, help)->type_name(type)->group(section_);
    return option->default_str(shown(target));
  }

  template <class T>
  static std::string shown(const T& value) {
    if constexpr (std::is_enum_v<T>)
      return to_string(value);
    else
      return fmt::format("{}", value);
  }
  template <class T>
  static std::string shown(const std::optional<T>&) {
    return "";  // the help text says what it is then
  }

  CLI::App& app_;
  std::string section_;
};

void add_model_flags(CLI::App& app, ModelOptions& o) {
  Flags flags(app, "Model (a default is the named model's)");
  flags.text("--model", o.model, "NAME|FILE.json",
             fmt::format("A preset ({}) or a configuration file", fmt::join(nn::preset_names(), ", ")));
  flags.number("--layers", o.layers, kCount, "Blocks");
  flags.number("--dim", o.dim, kCount, "Width of the hidden states; the MLP's keeps its ratio");
  flags.number("--heads", o.heads, kCount, "Attention heads");
  flags.number("--kv-heads", o.kv_heads, kCount, "Heads of keys and values; must divide --heads");
  flags.number("--ffn-dim", o.ffn_dim, kCount, "Width inside the MLP");
  flags.number("--context", o.context, kCount, "Tokens in a sequence");
  flags.number("--vocab", o.vocab, kCount, "Different tokens; text needs 256 (bytes)");
  flags.choice("--norm", o.norm, nn::norm_from, "layer|rms", "Normalisation");
  flags.choice("--position", o.position, nn::position_from, "learned|rope", "How positions enter");
  flags.choice("--mlp", o.mlp, nn::mlp_from, "gelu|swiglu", "Kind of MLP");
  CLI::Option* tied = flags.flag("--tied", o.tied, true, "The head shares the embedding's weight");
  flags.flag("--untied", o.tied, false, "The head has a weight of its own")->excludes(tied);
  flags.number("--dropout", o.dropout, kFraction, "Probability of dropping an element");
}

void add_diagnosis_flags(CLI::App& app, dist::Diagnosis& diagnosis) {
  Flags flags(app, "Diagnosis of hangs");
  flags.number("--watchdog", diagnosis.watchdog_s, kNotNegative,
               "Seconds without progress after which ranks say what they wait for, and end; 0: never");
  flags.flag("--check-collectives", diagnosis.check_collectives, true,
             "Compare what ranks are about to call, each time");
}

template <class Threads>
void add_threads_flag(Flags& flags, Threads& threads) {
  flags.number("--threads", threads, Range<int>{1, 4096},
               "Threads of a rank; default: the cores there are, shared among the ranks on a node");
}

template <class Threads>
void add_compute_flags(Flags& flags, DType& dtype, Threads& threads) {
  flags.choice("--dtype", dtype, dtype_from, "f32|f64", "Number type of everything");
  add_threads_flag(flags, threads);
}

void add_recompute_flag(Flags& flags, nn::Recompute& recompute) {
  flags.choice("--recompute", recompute, nn::recompute_from, "none|selective|full",
               "Activations to compute again in backward instead of keeping them");
}

void add_gradient_flags(Flags& flags, double& bucket_mb, dist::Algorithm& algorithm) {
  flags.number("--bucket-mb", bucket_mb, kMegabytes,
               "MiB of gradients that travel together while backward goes on; --zero 3 sends a block's");
  flags.choice(
      "--algorithm", algorithm, dist::parse_algorithm, "automatic|NAME",
      fmt::format("How gradients and parameters travel: {}; with --zero what all of its collectives have",
                  plan::algorithm_names(dist::Kind::all_reduce)));
}

void add_zero_flag(Flags& flags, int& zero) {
  flags.number("--zero", zero, kZero,
               "What those ranks share out instead of holding it each: 0 nothing, 1 the optimizer's state, 2 "
               "and gradients, 3 and parameters");
}

void add_network_flag(Flags& flags, std::string& network) {
  flags.text("--network", network, "FILE", "What automatic goes by, as bench collectives --json wrote it");
}

void add_optimizer_flags(CLI::App& app, TrainOptions& o) {
  Flags flags(app, "Optimizer");
  flags.number("--lr", o.lr, kNotNegative, "Highest learning rate");
  flags.number("--warmup", o.warmup, kCountOrNone, "Steps over which the learning rate rises to --lr");
  flags.choice("--lr-decay", o.lr_decay, nn::decay_from, "cosine|linear|constant",
               "How it falls afterwards, to a tenth");
  flags.choice("--optimizer", o.optimizer.kind, nn::optimizer_from, "sgd|adamw", "Update rule");
  auto* momentum = flags.number("--momentum", o.optimizer.momentum, kFraction, "Of --optimizer sgd");
  flags.number("--weight-decay", o.optimizer.weight_decay, kNotNegative, "Decoupled decay of matrices");
  flags.number("--clip", o.clip, kNotNegative, "Largest norm of the gradient; 0: no limit");
  app.final_callback([&o, momentum] {
    check(momentum->empty() || o.optimizer.kind == nn::OptimizerKind::sgd, "--momentum", "got ",
          o.optimizer.momentum, " with --optimizer ", nn::to_string(o.optimizer.kind),
          ", expected --optimizer sgd");
    check(o.degrees.shard == 0 || o.zero > 0, "--shard", "got ", o.degrees.shard,
          " with --zero 0: there is nothing to shard, expected --zero 1, 2 or 3");
    check(!o.save_every || !o.save.empty(), "--save-every", "got ", o.save_every.value_or(0),
          " without --save, expected a folder to save in");
  });
}

}  // namespace

Index bytes_of_mb(double mb) { return std::max<Index>(1, std::llround(mb * (1 << 20))); }

int default_threads() { return available_cores(); }

nn::ModelConfig configure(const ModelOptions& o) {
  nn::ModelConfig config = nn::find_model(o.model);
  const auto ffn_per_dim = static_cast<double>(config.ffn_dim) / static_cast<double>(config.dim);
  const bool one_kv_head_each = config.kv_heads == config.heads;
  config.layers = o.layers.value_or(config.layers);
  config.dim = o.dim.value_or(config.dim);
  config.heads = o.heads.value_or(config.heads);
  config.kv_heads = o.kv_heads.value_or(one_kv_head_each ? config.heads : config.kv_heads);
  if (o.dim) config.ffn_dim = std::llround(ffn_per_dim * static_cast<double>(config.dim));
  config.ffn_dim = o.ffn_dim.value_or(config.ffn_dim);
  config.context = o.context.value_or(config.context);
  config.vocab = o.vocab.value_or(config.vocab);
  config.norm = o.norm.value_or(config.norm);
  config.position = o.position.value_or(config.position);
  config.mlp = o.mlp.value_or(config.mlp);
  config.tied = o.tied.value_or(config.tied);
  config.dropout = o.dropout.value_or(config.dropout);
  nn::validate(config);
  return config;
}

void add_flags(CLI::App& app, TrainOptions& o) {
  add_model_flags(app, o.model);

  Flags layout(app, "Layout");
  layout.number("--dp", o.degrees.dp, kRanks, "Ranks that share a batch; 0: all that mpirun started");
  add_zero_flag(layout, o.zero);
  layout.number("--shard", o.degrees.shard, kRanks,
                "Ranks that share it out, which others repeat; 0: all of --dp, 1: none");
  add_gradient_flags(layout, o.bucket_mb, o.algorithm);
  add_network_flag(layout, o.network);
  layout.number("--microbatches", o.microbatches, kCount, "Parts of a batch that run one after the other");
  add_recompute_flag(layout, o.recompute);

  Flags run(app, "Run");
  run.text("--data", o.data, "FILE",
           "Text, or 16-bit tokens if it ends in .u16; default: this project's own text, built in");
  run.number("--batch", o.batch, kCount, "Sequences in a step");
  run.number("--steps", o.steps, kCount, "Updates");
  run.number("--eval-every", o.eval_every, kCount, "Steps between validations; default: a fifth of --steps");
  run.number("--seed", o.seed, kSeed, "Of initial weights, batches and dropout");
  add_compute_flags(run, o.dtype, o.threads);
  run.text("--save", o.save, "DIR", "Where to save at the end: the model, and all it takes to go on");
  run.number("--save-every", o.save_every, kCount, "Steps between saves; the last one is kept");
  run.text("--resume", o.resume, "DIR", "What --save wrote, on any ranks, to go on from");
  run.text("--json", o.json, "FILE", "Where to write what was measured");
  run.text("--trace", o.trace, "FILE",
           fmt::format("Where to write a timeline of the first {} steps, for ui.perfetto.dev", kTracedSteps));
  run.text("--report", o.report, "FILE",
           "Where to write the run's report: one page for browsers, that needs no network");

  add_optimizer_flags(app, o);
  add_diagnosis_flags(app, o.diagnosis);
}

void add_flags(CLI::App& app, VerifyOptions& o) {
  add_model_flags(app, o.model);
  Flags flags(app, "Verification");
  flags.text("--layout", o.layout, "\"KEY=VALUE ...\"",
             "One layout: dp, zero, shard, recompute, microbatches; default: all for the number of ranks");
  flags.number("--batch", o.batch, kCount, "Sequences in a step");
  add_gradient_flags(flags, o.bucket_mb, o.algorithm);
  flags.number("--seed", o.seed, kSeed, "Of weights, batches and dropout");
  add_threads_flag(flags, o.threads);
  flags.text("--json", o.json, "FILE", "Where to write what was found");
}

void add_flags(CLI::App& app, GenerateOptions& o) {
  Flags flags(app, "Options");
  flags.text("--checkpoint", o.checkpoint, "DIR", "What train --save wrote")->required();
  flags.text("--prompt", o.prompt, "TEXT", "What to continue");
  flags.number("--tokens", o.sampling.tokens, kCountOrNone, "How many to add");
  flags.number("--temperature", o.sampling.temperature, kNotNegative,
               "Below 1: likelier ones; 0: always the likeliest");
  flags.number("--top-k", o.sampling.top_k, kCountOrNone, "Draw among the k likeliest; 0: among all");
  flags.number("--seed", o.sampling.seed, kSeed, "Of the draws");
  add_threads_flag(flags, o.threads);
}

dist::Kind collective_from(const std::string& name) {
  const dist::Kind kind = plan::parse_kind(name);
  check(kind != dist::Kind::point_to_point, "--op", "got ", name, ", expected a collective");
  return kind;
}

std::string contender_from(const std::string& name) {
  if (name == "mpi" || name == "mpi-nonblocking") return name;
  return to_string(dist::parse_algorithm(name));
}

void add_collective_flags(CLI::App& app, CollectiveBenchOptions& o) {
  Flags flags(app, "Measurement");
  flags.list("--op", o.ops, collective_from, "NAME,...", "Collectives; default: all");
  flags.list("--algorithm", o.algorithms, contender_from, "NAME,...",
             "Algorithms, mpi, mpi-nonblocking; default: all that a collective has");
  const auto bytes = [](const std::string& text) {
    return parse_number<Index>("--bytes", text, kBufferBytes);
  };
  flags.list("--bytes", o.bytes, bytes, "N,...", "Sizes of the buffer; default: 8 to 67108864");
  flags.number("--calls", o.calls, Range<int>{0, 1 << 20},
               "Of each in a round; 0: as many as take 0.1 s, 2 to 200");
  flags.number("--rounds", o.rounds, Range<int>{1, 1000}, "In each of which all take their turn");
  flags.number("--ranks-per-node", o.ranks_per_node, kRanks,
               "Go by nodes of so many ranks, whatever they are on; 0: by where they are");
  add_network_flag(flags, o.network);
  flags.text("--json", o.json, "FILE", "Where to write the results, and what --network reads");
}

void add_flags(CLI::App& app, BenchOptions& o) {
  app.require_subcommand(1);
  const auto subcommand = [&](const char* name, const char* what, BenchOptions::Kind kind) -> CLI::App& {
    CLI::App& sub = *app.add_subcommand(name, what);
    sub.parse_complete_callback([&o, kind] { o.kind = kind; });
    return sub;
  };
  const auto common = [&](CLI::App& sub) {
    add_model_flags(sub, o.model);
    Flags flags(sub, "Measurement");
    flags.number("--batch", o.batch, kCount, "Sequences in a step");
    add_compute_flags(flags, o.dtype, o.threads);
    flags.text("--json", o.json, "FILE", "Where to write the results");
    return flags;
  };
  common(subcommand("gemm", "Rates of matrix products: squares and those of a model's layers",
                    BenchOptions::Kind::gemm));
  const auto steps = [&](CLI::App& sub) {
    Flags flags = common(sub);
    flags.number("--steps", o.steps, kCount, "Steps to measure");
    flags.number("--warmup-steps", o.warmup_steps, kCountOrNone, "Steps before them");
    add_recompute_flag(flags, o.recompute);
    return flags;
  };
  steps(
      subcommand("step", "Speed and memory of a training step (AdamW, clipping)", BenchOptions::Kind::step));
  Flags overlap =
      steps(subcommand("overlap", "How much communication a step hides, and each part alone; under mpirun",
                       BenchOptions::Kind::overlap));
  add_zero_flag(overlap, o.zero);
  add_gradient_flags(overlap, o.bucket_mb, o.algorithm);
  add_network_flag(overlap, o.network);
  add_collective_flags(subcommand("collectives", "Collectives by every algorithm and by MPI, under mpirun",
                                  BenchOptions::Kind::collectives),
                       o.collectives);
}

}  // namespace tessera
