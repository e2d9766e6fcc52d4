#include "examples/bench_collectives.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "dist/comm/yardstick.h"
#include "dist/plan/collective_cost.h"
#include "examples/collective_timing.h"
#include "examples/files.h"
#include "examples/network_file.h"
#include "examples/program.h"
#include "examples/text.h"
#include "tensor/check.h"

namespace tessera {
namespace {

using dist::Algorithm;
using dist::Comm;
using dist::Kind;
using dist::Yardstick;
using nlohmann::json;

/// A line of the table.
struct Result {
  Kind op;
  std::string algorithm;
  int ranks;
  Index bytes;  ///< of the buffer; of all_to_all, what a rank sends
  CallTimes times;
  double predicted_s;  ///< 0 for a yardstick

  double algbw() const { return static_cast<double>(bytes) / times.median_s; }
  /// What each rank must send and receive at least: comparable with the bandwidth of a link.
  double busbw() const { return algbw() * plan::busbw_factor(to_string(op), ranks); }
};

bool has_root(Kind op) {
  return op == Kind::broadcast || op == Kind::reduce || op == Kind::gather || op == Kind::scatter;
}

bool has_parts(Kind op) {
  return op == Kind::reduce_scatter || op == Kind::all_gather || op == Kind::gather || op == Kind::scatter ||
         op == Kind::all_to_all;
}

/// What a collective works on: memory of a tensor, which has huge pages where the system has.
struct Operand {
  Kind op;
  Index bytes;
  Tensor memory;
  std::span<float> x;

  // The bytes asked for in whole elements, as many for each rank: MPI's calls for parts of one size are its
  // fast ones, and where some have none, not all ranks take part.
  Operand(Kind kind, Index asked_bytes, int ranks) : op(kind) {
    const Index parts = has_parts(op) ? ranks : 1;
    bytes = std::max<Index>(1, asked_bytes / 4 / parts) * parts * 4;
    memory =
        Tensor::zeros({op == Kind::all_to_all ? bytes / 2 : bytes / 4}, DType::f32, Category::communication);
    x = {static_cast<float*>(memory.storage()->data()), static_cast<std::size_t>(memory.numel())};
  }
};

void call(const Comm& comm, Operand& o, Algorithm algorithm) {
  const dist::CollectiveOptions options{.algorithm = algorithm};
  const std::span<float> x = o.x;
  switch (o.op) {
    case Kind::all_reduce:
      return dist::all_reduce(comm, x, options);
    case Kind::reduce_scatter:
      return dist::reduce_scatter(comm, x, {}, options);
    case Kind::all_gather:
      return dist::all_gather(comm, x, {}, options);
    case Kind::broadcast:
      return dist::broadcast(comm, x, 0, options);
    case Kind::reduce:
      return dist::reduce(comm, x, 0, options);
    case Kind::gather:
      return dist::gather(comm, x, 0, {}, options);
    case Kind::scatter:
      return dist::scatter(comm, x, 0, {}, options);
    case Kind::all_to_all:
      return dist::all_to_all(comm, x.first(x.size() / 2), x.subspan(x.size() / 2), options);
    default:
      return dist::barrier(comm);
  }
}

/// One bench: what stays the same from line to line.
struct Bench {
  const CollectiveBenchOptions& options;
  const Comm& comm;
  plan::Topology topology;
  plan::Network network;

  bool speaks() const { return comm.rank() == 0; }
};

std::vector<Algorithm> algorithms(const Bench& bench, Kind op) {
  std::vector<Algorithm> result = {Algorithm::automatic};
  for (const Algorithm algorithm : plan::algorithms_of(op)) {
    if (algorithm == Algorithm::hierarchical && bench.topology.nodes() == 1) continue;
    result.push_back(algorithm);
  }
  return result;
}

double predicted_s(const Bench& bench, const Operand& o, Algorithm algorithm) {
  const auto bytes = static_cast<double>(o.bytes);
  if (algorithm == Algorithm::automatic)
    algorithm = plan::choose_algorithm(o.op, bytes, bench.topology, bench.network);
  return plan::predicted_s(o.op, algorithm, bytes, bench.topology, bench.network);
}

std::vector<Result> measure(const Bench& bench, Kind op, Index bytes) {
  Operand o(op, bytes, bench.comm.size());
  std::vector<Contender> contenders;
  std::vector<double> predictions;
  const auto asked = [&](const std::string& name) {
    const auto& names = bench.options.algorithms;
    return names.empty() || std::ranges::count(names, name) > 0;
  };
  for (const Algorithm algorithm : algorithms(bench, op)) {
    if (!asked(to_string(algorithm))) continue;
    contenders.push_back({to_string(algorithm), [&bench, &o, algorithm] { call(bench.comm, o, algorithm); }});
    predictions.push_back(predicted_s(bench, o, algorithm));
  }
  for (const Yardstick yardstick : {Yardstick::mpi, Yardstick::mpi_nonblocking}) {
    if (!asked(to_string(yardstick))) continue;
    contenders.push_back({to_string(yardstick), [&bench, &o, yardstick] {
                            dist::run_yardstick(yardstick, bench.comm, o.op, o.x);
                          }});
    predictions.push_back(0);
  }
  const std::vector<CallTimes> times =
      time_calls(bench.comm, contenders, has_root(op), {bench.options.calls, bench.options.rounds});
  std::vector<Result> results;
  for (std::size_t i = 0; i < contenders.size(); ++i)
    results.push_back({op, contenders[i].name, bench.comm.size(), o.bytes, times[i], predictions[i]});
  return results;
}

// ---- what is shown ----

void print(const std::vector<Result>& results, const Bench& bench) {
  for (const Result& r : results) {
    std::string name = r.algorithm;
    if (name == to_string(Algorithm::automatic))
      name =
          fmt::format("automatic ({})", to_string(plan::choose_algorithm(r.op, static_cast<double>(r.bytes),
                                                                         bench.topology, bench.network)));
    fmt::print("{:<15}{:>10}  {:<30}{:>11.1f}{:>11.1f}{:>11.1f}{:>9.3f}{:>9.3f}\n", to_string(r.op),
               bytes_text(r.bytes), name, r.times.best_s * 1e6, r.times.median_s * 1e6, r.times.mean_s * 1e6,
               r.algbw() / 1e9, r.busbw() / 1e9);
  }
  std::fflush(stdout);
}

json to_json(const Result& r) {
  json line = {{"op", to_string(r.op)},    {"algorithm", r.algorithm}, {"ranks", r.ranks},
               {"bytes", r.bytes},         {"best_s", r.times.best_s}, {"median_s", r.times.median_s},
               {"mean_s", r.times.mean_s}, {"algbw", r.algbw()},       {"busbw", r.busbw()}};
  if (r.predicted_s > 0) line["predicted_s"] = r.predicted_s;
  return line;
}

// ---- links ----

/// The first rank on another node than rank 0; 0 if there is none.
int first_elsewhere(const Comm& comm) {
  const auto& nodes = comm.nodes();
  const auto found = std::ranges::find_if(nodes, [&](int node) { return node != nodes[0]; });
  return found == nodes.end() ? 0 : static_cast<int>(found - nodes.begin());
}

struct Links {
  plan::Network network;       ///< of a link that is missing, the built-in prices
  double bandwidth = 0;        ///< of the slowest, at best
  double large_bandwidth = 0;  ///< of its largest message
};

Links fit(const Comm& comm) {
  Links links;
  const auto link = [&](int peer) {
    const MessageTimes times = time_messages(comm, peer);
    links.bandwidth = times.best_bandwidth();
    links.large_bandwidth = times.bytes.back() / times.seconds.back();
    return fit_link(comm, peer, times);
  };
  if (comm.nodes()[1] == comm.nodes()[0]) links.network.node = link(1);
  if (const int elsewhere = first_elsewhere(comm); elsewhere > 0) links.network.across = link(elsewhere);
  std::vector<double> add = {time_add()};
  dist::broadcast(comm, add, 0);
  links.network.add_s_per_byte = add[0];
  return links;
}

void print_link(const char* where, const plan::LinkPrice& link) {
  fmt::print("{:<15}alpha {:.2f} us, beta {:.4f} ns per byte, {:.2f} us per further message\n", where,
             link.alpha_s * 1e6, link.beta_s_per_byte * 1e9, link.per_message_s * 1e6);
}

/// The ranks to measure on; as if on other nodes than they are, if asked for.
Comm measured_ranks(const CollectiveBenchOptions& options, const Comm& world) {
  if (options.ranks_per_node == 0) return world;
  std::vector<int> nodes;
  for (int rank = 0; rank < world.size(); ++rank) nodes.push_back(rank / options.ranks_per_node);
  return dist::duplicate_as_if_on(nodes, world, {"world", "bench"});
}

void print_header(const Bench& bench, const Links& links) {
  const Comm& comm = bench.comm;
  fmt::print("{} ranks, {} on a node, {} cores there\n", comm.size(), bench.topology.ranks_per_node,
             comm.cores_on_node());
  fmt::print("send, receive  {:.2f} GB/s one way at best, {:.2f} of 64 MiB\n", links.bandwidth / 1e9,
             links.large_bandwidth / 1e9);
  if (bench.topology.ranks_per_node > 1) print_link("on a node", links.network.node);
  if (bench.topology.nodes() > 1) print_link("between nodes", links.network.across);
  fmt::print("\n{:<15}{:>10}  {:<30}{:>11}{:>11}{:>11}{:>9}{:>9}\n", "", "bytes", "algorithm", "best us",
             "median us", "mean us", "alg GB/s", "bus GB/s");
}

json to_json(const std::vector<Result>& results, const Bench& bench, const Links& links) {
  const plan::LinkPrice& slowest = bench.topology.nodes() > 1 ? links.network.across : links.network.node;
  json lines = json::array();
  for (const Result& result : results) lines.push_back(to_json(result));
  return {{"results", lines},
          {"send_recv_bandwidth", links.bandwidth},
          {"alpha_s", slowest.alpha_s},
          {"beta_s_per_byte", slowest.beta_s_per_byte},
          {"network", network_json(links.network)}};
}

}  // namespace

void bench_collectives(const CollectiveBenchOptions& options, const Comm& world) {
  check(world.size() > 1, "bench collectives", "1 rank, expected 2 or more: mpirun -n 2 bench collectives");
  on_first_rank(world, [&] { check_writable_file("--json", options.json); });
  const plan::Network network = options.network.empty() ? plan::Network{} : read_network(options.network);
  dist::set_network(world, network);

  const Comm comm = measured_ranks(options, world);
  const int per_node = options.ranks_per_node > 0 ? options.ranks_per_node : world.ranks_on_node();
  const Bench bench{options, comm, {comm.size(), std::min(per_node, comm.size())}, network};
  const Links links = fit(comm);
  if (bench.speaks()) print_header(bench, links);
  std::vector<Result> results;
  for (const Kind op : options.ops)
    for (const Index bytes : op == Kind::barrier ? std::vector<Index>{4} : options.bytes) {
      const std::vector<Result> lines = measure(bench, op, bytes);
      if (bench.speaks()) print(lines, bench);
      results.insert(results.end(), lines.begin(), lines.end());
    }
  if (!bench.speaks() || options.json.empty()) return;
  write_file(options.json, to_json(results, bench, links).dump(1) + "\n");
  fmt::print("\nmeasurements in {}\n", options.json);
}

}  // namespace tessera
