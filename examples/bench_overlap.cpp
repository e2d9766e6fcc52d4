#include "examples/bench_overlap.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "dist/parallel/parallelize.h"
#include "dist/trace/account.h"
#include "examples/collective_timing.h"
#include "examples/files.h"
#include "examples/memory_check.h"
#include "examples/network_file.h"
#include "examples/process.h"
#include "examples/program.h"
#include "examples/random_batch.h"
#include "examples/step_communication.h"
#include "examples/text.h"
#include "nn/train_step.h"
#include "tensor/check.h"

namespace tessera {
namespace {

using dist::Comm;

/// A model, and how it takes steps on one batch.
struct Trainee {
  nn::Transformer model;
  nn::Batch batch;
  nn::StepExchange exchange{};
  std::unique_ptr<nn::Optimizer> optimizer{};
  Index steps = 0;

  Trainee(const BenchOptions& options, const Comm& world)
      : model(configure(options.model)),
        batch(random_batch(model.config(), options.batch / world.size(),
                           static_cast<std::uint64_t>(world.rank()))) {
    model.set_recompute(options.recompute);
  }
  void step() {
    if (!optimizer) optimizer = std::make_unique<nn::Optimizer>(model.parameters(), nn::OptimizerOptions{});
    nn::train_step(model, *optimizer, batch, {.lr = 1e-4, .clip = 1, .step = steps++}, exchange);
  }
};

/// Seconds of what one rank does in a step by itself.
struct Computing {
  double forward_s = 0, gradients_s = 0, optimizer_s = 0;  ///< gradients_s: forward and backward
};

/// Steps of a rank that trains alone.
class Alone {
 public:
  Alone(const BenchOptions& options, const Comm& world) : trainee_(options, world) {
    trainee_.model.materialize(1, options.dtype);
    // The first backward asks for the count, and after the last one gradients are finished.
    trainee_.exchange.total_count = [this](Index count) {
      return [this, count] {
        if (now_.forward_s == 0) now_.forward_s = watch_.seconds();
        return count;
      };
    };
    trainee_.exchange.finish_gradients = [this](const nn::Parameters& parameters) {
      now_.gradients_s = watch_.seconds();
      nn::own_gradients(parameters);
    };
  }

  void step() {
    watch_ = {};
    now_ = {};
    trainee_.step();
    now_.optimizer_s = watch_.seconds() - now_.gradients_s;
    all_.push_back(now_);
  }

  /// The median of the last `steps`, on the slowest rank.
  double median(double Computing::*part, Index steps, const Comm& world) const {
    std::vector<double> values;
    for (std::size_t i = all_.size() - static_cast<std::size_t>(steps); i < all_.size(); ++i)
      values.push_back(dist::max(world, all_[i].*part));
    return dist::median(values);
  }

 private:
  Trainee trainee_;
  Stopwatch watch_;
  Computing now_;
  std::vector<Computing> all_;
};

/// Medians.
struct Terms {
  Computing computing;
  double communication_s, after_update_s, first_gather_s, last_reduce_s;
  double step_s, no_overlap_s;
  int zero;

  /// The longer of the two sides that can go on at the same time.
  double longer_s() const {
    const double before = zero == 3 ? 0 : computing.forward_s;
    return std::max(computing.gradients_s, before + communication_s);
  }
  /// What comes before or after.
  double beside_s() const {
    return zero == 3 ? first_gather_s + last_reduce_s : computing.optimizer_s + after_update_s;
  }
  double ratio() const { return (step_s - beside_s()) / longer_s(); }
};

std::unique_ptr<Trainee> parallel_trainee(const BenchOptions& o, const dist::Mesh& mesh, bool overlap) {
  auto trainee = std::make_unique<Trainee>(o, mesh.world());
  trainee->exchange = dist::parallelize(trainee->model, mesh,
                                        {.dtype = o.dtype,
                                         .zero = o.zero,
                                         .bucket_bytes = bytes_of_mb(o.bucket_mb),
                                         .overlap = overlap,
                                         .collectives = {.algorithm = o.algorithm}})
                          .exchange;
  return trainee;
}

/// What this rank has sent for gradients and parameters.
Index bytes_sent(const dist::Mesh& mesh) {
  Index bytes = 0;
  for (const char* purpose : {"gradients", "parameters"})
    bytes += mesh.axis("dp").comm(purpose).counter().bytes_sent;
  return bytes;
}

/// The bench measures what a step really sends, or nothing.
void check_same_traffic(const StepCommunication& communication, const Comm& comm, Trainee& trainee,
                        const dist::Mesh& mesh) {
  const Index before = bytes_sent(mesh);
  trainee.step();
  const Index step = bytes_sent(mesh) - before;
  communication.beside_computing();
  communication.after_update();
  const Index alone = comm.counter().bytes_sent;
  if (step != alone)
    throw std::logic_error(
        fmt::format("[bench overlap] a step sends {} bytes, its communication alone {}", step, alone));
}

Terms measure(const BenchOptions& o, const dist::Mesh& mesh) {
  const Comm& world = mesh.world();
  Alone alone(o, world);
  const auto overlapped = parallel_trainee(o, mesh, true), serial = parallel_trainee(o, mesh, false);
  const Comm comm = mesh.axis("dp").comm("communication alone");
  const StepCommunication communication(overlapped->model, comm, o.zero, bytes_of_mb(o.bucket_mb), o.dtype,
                                        {.algorithm = o.algorithm});
  check_same_traffic(communication, comm, *overlapped, mesh);

  const std::vector<Contender> contenders = {{"computing", [&] { alone.step(); }},
                                             {"communication", [&] { communication.beside_computing(); }},
                                             {"after the update", [&] { communication.after_update(); }},
                                             {"first gather", [&] { communication.first_gather(); }},
                                             {"last reduce_scatter", [&] { communication.last_reduce(); }},
                                             {"step", [&] { overlapped->step(); }},
                                             {"step without overlap", [&] { serial->step(); }}};
  const auto take_turns = [&](Index rounds) {
    return time_calls(world, contenders, true, {.calls = 1, .rounds = static_cast<int>(rounds)});
  };
  take_turns(o.warmup_steps);
  const std::vector<CallTimes> times = take_turns(o.steps);
  const auto part = [&](double Computing::*member) { return alone.median(member, o.steps, world); };
  return {.computing = {part(&Computing::forward_s), part(&Computing::gradients_s),
                        part(&Computing::optimizer_s)},
          .communication_s = times[1].median_s,
          .after_update_s = times[2].median_s,
          .first_gather_s = times[3].median_s,
          .last_reduce_s = times[4].median_s,
          .step_s = times[5].median_s,
          .no_overlap_s = times[6].median_s,
          .zero = o.zero};
}

void print(const Terms& t) {
  const auto line = [](const char* name, double seconds, const char* remark = "") {
    fmt::print("{:<22}{:>10.2f} ms{}\n", name, seconds * 1e3, remark);
  };
  fmt::print("Alone\n");
  line("forward", t.computing.forward_s);
  line("forward and backward", t.computing.gradients_s);
  line("optimizer", t.computing.optimizer_s);
  line("communication", t.communication_s, "  beside computing");
  if (t.after_update_s > 0 && (t.zero == 1 || t.zero == 2))
    line("gather", t.after_update_s, "  after the update");
  if (t.zero == 3) {
    line("first gather", t.first_gather_s);
    line("last reduce_scatter", t.last_reduce_s);
  }
  fmt::print("\n");
  line("step without overlap", t.no_overlap_s);
  line("step", t.step_s);
  fmt::print("                      = {:.3f} x {} + {}\n", t.ratio(),
             t.zero == 3 ? "max(compute, communication)" : "max(compute, forward + communication)",
             t.zero == 3   ? "first gather + last reduce_scatter"
             : t.zero == 0 ? "optimizer"
                           : "optimizer + gather");
  fmt::print("communication         = {:.2f} x compute\n", t.communication_s / t.computing.gradients_s);
}

nlohmann::json to_json(const Terms& t, int ranks) {
  return {{"ranks", ranks},
          {"zero", t.zero},
          {"forward_s", t.computing.forward_s},
          {"compute_s", t.computing.gradients_s},
          {"optimizer_s", t.computing.optimizer_s},
          {"communication_s", t.communication_s},
          {"after_update_s", t.after_update_s},
          {"first_gather_s", t.first_gather_s},
          {"last_reduce_scatter_s", t.last_reduce_s},
          {"step_s", t.step_s},
          {"step_without_overlap_s", t.no_overlap_s},
          {"longer_side_s", t.longer_s()},
          {"beside_s", t.beside_s()},
          {"ratio", t.ratio()}};
}

}  // namespace

void bench_overlap(const BenchOptions& options, const Comm& world) {
  check(world.size() > 1, "bench overlap", "1 rank, expected 2 or more: mpirun -n 2 bench overlap");
  check(options.batch % world.size() == 0, "--batch", "got ", options.batch, ", expected a multiple of the ",
        world.size(), " ranks: each computes as long as the others");
  // Of the model that trains alone.
  check_memory(nn::Transformer(configure(options.model)),
               {options.batch / world.size(), 1, options.dtype, {}});
  on_first_rank(world, [&] { check_writable_file("--json", options.json); });
  if (!options.network.empty()) dist::set_network(world, read_network(options.network));
  const dist::Mesh mesh(world, {});
  const Terms terms = measure(options, mesh);
  if (world.rank() != 0) return;
  print(terms);
  if (!options.json.empty()) write_file(options.json, to_json(terms, world.size()).dump(1) + "\n");
}

}  // namespace tessera
