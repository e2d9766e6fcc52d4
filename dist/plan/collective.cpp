#include "dist/plan/collective.h"

#include <algorithm>
#include <array>
#include <span>

#include "dist/plan/barrier.h"
#include "dist/plan/binomial.h"
#include "dist/plan/bruck.h"
#include "dist/plan/halving_doubling.h"
#include "dist/plan/pairwise.h"
#include "dist/plan/recursive_doubling.h"
#include "dist/plan/require.h"
#include "dist/plan/ring.h"

namespace tessera::plan {
namespace {

constexpr std::array<const char*, kNumKinds> kKindNames = {
    "point_to_point", "all_reduce", "reduce_scatter", "all_gather", "broadcast",
    "reduce",         "gather",     "scatter",        "all_to_all", "barrier"};
constexpr std::array<const char*, kNumAlgorithms> kAlgorithmNames = {
    "automatic", "direct", "ring",     "recursive_doubling", "halving_doubling",
    "binomial",  "bruck",  "pairwise", "hierarchical",       "dissemination"};

template <class Enum, std::size_t n>
Enum parse(const char* op, const std::array<const char*, n>& known, const std::string& name) {
  const auto found = std::ranges::find(known, name);
  std::string names;
  for (const char* each : known) names += (names.empty() ? "" : ", ") + std::string(each);
  require(found != known.end(), op, "got \"", name, "\", expected one of ", names);
  return static_cast<Enum>(found - known.begin());
}

// The parts in the order first, first + 1, ... (modulo ranks): that of a tree's, or of Bruck's, buffer.
std::vector<Range> from_rank(int first, std::vector<Range> parts) {
  std::ranges::rotate(parts, parts.begin() + first);
  return parts;
}

std::vector<Range> by_node(const Call& call) {
  std::vector<Range> order;
  for (const auto& members : call.nodes)
    for (const int member : members) order.push_back(call.parts.at(member));
  return order;
}

// Of all_to_all.
std::vector<Range> sends(const Call& call) { return {call.parts.begin(), call.parts.begin() + call.ranks}; }
std::vector<Range> receives(const Call& call) { return {call.parts.begin() + call.ranks, call.parts.end()}; }

Index block_size(const Call& call) {
  const Index size = call.parts[0].size;
  for (const Range& part : call.parts)
    require(part.size == size, "all_to_all", "bruck needs blocks of one size, but got ", size, " and ",
            part.size);
  return size;
}

// One algorithm of a collective.
struct Entry {
  Algorithm algorithm;
  Schedule (*schedule)(const Call& c);
  Traffic (*traffic)(const Call& c);
};
using Entries = std::span<const Entry>;

constexpr Entry kAllReduce[] = {
    {Algorithm::ring, [](const Call& c) { return Schedule{ring_all_reduce(c.rank, c.ranks, c.count)}; },
     [](const Call& c) { return ring_all_reduce_traffic(c.rank, c.ranks, c.count); }},
    {Algorithm::recursive_doubling,
     [](const Call& c) { return Schedule{recursive_doubling_all_reduce(c.rank, c.ranks, c.count)}; },
     [](const Call& c) { return recursive_doubling_all_reduce_traffic(c.rank, c.ranks, c.count); }},
    {Algorithm::halving_doubling,
     [](const Call& c) { return Schedule{halving_doubling_all_reduce(c.rank, c.ranks, c.count)}; },
     [](const Call& c) { return halving_doubling_all_reduce_traffic(c.rank, c.ranks, c.count); }},
    {Algorithm::binomial,
     [](const Call& c) { return Schedule{binomial_all_reduce(c.rank, c.ranks, c.count)}; },
     [](const Call& c) { return binomial_all_reduce_traffic(c.rank, c.ranks, c.count); }},
    {Algorithm::hierarchical,
     [](const Call& c) { return Schedule{hierarchical_all_reduce(c.rank, c.nodes, c.count)}; },
     [](const Call& c) { return hierarchical_all_reduce_traffic(c.rank, c.nodes, c.count); }}};

constexpr Entry kReduceScatter[] = {
    {Algorithm::ring, [](const Call& c) { return Schedule{ring_reduce_scatter(c.rank, c.parts)}; },
     [](const Call& c) { return ring_reduce_scatter_traffic(c.rank, c.parts); }},
    {Algorithm::halving_doubling,
     [](const Call& c) {
       return Schedule{halving_reduce_scatter(c.rank, sizes_of(c.parts)), c.parts};
     },
     [](const Call& c) { return halving_reduce_scatter_traffic(c.rank, sizes_of(c.parts)); }},
    {Algorithm::pairwise, [](const Call& c) { return Schedule{pairwise_reduce_scatter(c.rank, c.parts)}; },
     [](const Call& c) { return pairwise_reduce_scatter_traffic(c.rank, c.parts); }},
    {Algorithm::hierarchical,
     [](const Call& c) {
       return Schedule{hierarchical_reduce_scatter(c.rank, c.nodes, sizes_of(c.parts)), by_node(c)};
     },
     [](const Call& c) { return hierarchical_reduce_scatter_traffic(c.rank, c.nodes, sizes_of(c.parts)); }}};

constexpr Entry kAllGather[] = {
    {Algorithm::ring, [](const Call& c) { return Schedule{ring_all_gather(c.rank, c.parts)}; },
     [](const Call& c) { return ring_all_gather_traffic(c.rank, c.parts); }},
    {Algorithm::halving_doubling,
     [](const Call& c) {
       return Schedule{doubling_all_gather(c.rank, sizes_of(c.parts)), c.parts};
     },
     [](const Call& c) { return doubling_all_gather_traffic(c.rank, sizes_of(c.parts)); }},
    {Algorithm::bruck,
     [](const Call& c) {
       return Schedule{bruck_all_gather(c.rank, sizes_of(c.parts)), from_rank(c.rank, c.parts)};
     },
     [](const Call& c) { return bruck_all_gather_traffic(c.rank, sizes_of(c.parts)); }},
    {Algorithm::hierarchical,
     [](const Call& c) {
       return Schedule{hierarchical_all_gather(c.rank, c.nodes, sizes_of(c.parts)), by_node(c)};
     },
     [](const Call& c) { return hierarchical_all_gather_traffic(c.rank, c.nodes, sizes_of(c.parts)); }}};

constexpr Entry kBroadcast[] = {
    {Algorithm::binomial,
     [](const Call& c) { return Schedule{binomial_broadcast(c.rank, c.ranks, c.root, c.count)}; },
     [](const Call& c) { return binomial_broadcast_traffic(c.rank, c.ranks, c.root, c.count); }},
    {Algorithm::ring,
     [](const Call& c) { return Schedule{ring_broadcast(c.rank, c.ranks, c.root, c.count)}; },
     [](const Call& c) { return ring_broadcast_traffic(c.rank, c.ranks, c.root, c.count); }},
    {Algorithm::hierarchical,
     [](const Call& c) { return Schedule{hierarchical_broadcast(c.rank, c.nodes, c.root, c.count)}; },
     [](const Call& c) { return hierarchical_broadcast_traffic(c.rank, c.nodes, c.root, c.count); }}};

constexpr Entry kReduce[] = {
    {Algorithm::binomial,
     [](const Call& c) { return Schedule{binomial_reduce(c.rank, c.ranks, c.root, c.count)}; },
     [](const Call& c) { return binomial_reduce_traffic(c.rank, c.ranks, c.root, c.count); }},
    {Algorithm::ring, [](const Call& c) { return Schedule{ring_reduce(c.rank, c.ranks, c.root, c.count)}; },
     [](const Call& c) { return ring_reduce_traffic(c.rank, c.ranks, c.root, c.count); }},
    {Algorithm::hierarchical,
     [](const Call& c) { return Schedule{hierarchical_reduce(c.rank, c.nodes, c.root, c.count)}; },
     [](const Call& c) { return hierarchical_reduce_traffic(c.rank, c.nodes, c.root, c.count); }}};

constexpr Entry kGather[] = {
    {Algorithm::binomial,
     [](const Call& c) {
       return Schedule{binomial_gather(c.rank, c.root, sizes_of(c.parts)), from_rank(c.root, c.parts)};
     },
     [](const Call& c) { return binomial_gather_traffic(c.rank, c.root, sizes_of(c.parts)); }}};

constexpr Entry kScatter[] = {
    {Algorithm::binomial,
     [](const Call& c) {
       return Schedule{binomial_scatter(c.rank, c.root, sizes_of(c.parts)), from_rank(c.root, c.parts)};
     },
     [](const Call& c) { return binomial_scatter_traffic(c.rank, c.root, sizes_of(c.parts)); }}};

constexpr Entry kAllToAll[] = {
    {Algorithm::pairwise,
     [](const Call& c) { return Schedule{pairwise_all_to_all(c.rank, sends(c), receives(c))}; },
     [](const Call& c) { return pairwise_all_to_all_traffic(c.rank, sends(c), receives(c)); }},
    {Algorithm::bruck,
     [](const Call& c) {
       const Index size = block_size(c);
       return Schedule{bruck_all_to_all(c.rank, c.ranks, size), c.parts, bruck_workspace(c.ranks, size)};
     },
     [](const Call& c) { return bruck_all_to_all_traffic(c.rank, c.ranks, block_size(c)); }}};

constexpr Entry kBarrier[] = {{Algorithm::dissemination,
                               [](const Call& c) { return Schedule{dissemination_barrier(c.rank, c.ranks)}; },
                               [](const Call& c) { return dissemination_barrier_traffic(c.ranks); }}};

Entries entries_of(Kind kind) {
  constexpr std::array<Entries, kNumKinds> kEntries = {Entries{},  kAllReduce, kReduceScatter, kAllGather,
                                                       kBroadcast, kReduce,    kGather,        kScatter,
                                                       kAllToAll,  kBarrier};
  return kEntries[static_cast<std::size_t>(kind)];
}

void require_call(const Call& call) {
  const char* op = to_string(call.kind);
  require_rank(op, call.rank, call.ranks);
  require_rank(op, call.root, call.ranks);
  require_count(op, call.count);

  const bool has_parts = call.kind == Kind::reduce_scatter || call.kind == Kind::all_gather ||
                         call.kind == Kind::gather || call.kind == Kind::scatter;
  const int num_parts = call.kind == Kind::all_to_all ? 2 * call.ranks : has_parts ? call.ranks : 0;
  require(std::ssize(call.parts) == num_parts, op, call.parts.size(), " parts for ", call.ranks, " ranks");
  for (const Range& part : call.parts)
    require(part.begin >= 0 && part.end() <= call.count, op, "part ", part, " of ", call.count, " elements");
  if (num_parts > 0) require_parts(op, call.rank, call.parts);
}

const Entry& checked_entry(const Call& call, Algorithm algorithm) {
  require_call(call);
  const Entries entries = entries_of(call.kind);
  const auto entry = std::ranges::find(entries, algorithm, &Entry::algorithm);
  if (entry == entries.end())  // names only when they are needed: small collectives come here, too
    require(false, to_string(call.kind), "has no algorithm ", to_string(algorithm), ", expected ",
            algorithm_names(call.kind));
  return *entry;
}

}  // namespace

const char* to_string(Kind kind) { return kKindNames[static_cast<std::size_t>(kind)]; }
const char* to_string(Algorithm algorithm) { return kAlgorithmNames[static_cast<std::size_t>(algorithm)]; }
Kind parse_kind(const std::string& name) { return parse<Kind>("parse_kind", kKindNames, name); }
Algorithm parse_algorithm(const std::string& name) {
  return parse<Algorithm>("parse_algorithm", kAlgorithmNames, name);
}

std::vector<Algorithm> algorithms_of(Kind kind) {
  std::vector<Algorithm> algorithms;
  for (const Entry& entry : entries_of(kind)) algorithms.push_back(entry.algorithm);
  return algorithms;
}

bool has_algorithm(Kind kind, Algorithm algorithm) {
  return std::ranges::find(entries_of(kind), algorithm, &Entry::algorithm) != entries_of(kind).end();
}

std::string algorithm_names(Kind kind) {
  std::string names = to_string(Algorithm::automatic);
  for (const Algorithm algorithm : algorithms_of(kind)) names += std::string(", ") + to_string(algorithm);
  return names;
}

Schedule schedule(const Call& call, Algorithm algorithm) {
  return checked_entry(call, algorithm).schedule(call);
}

Traffic schedule_traffic(const Call& call, Algorithm algorithm) {
  return checked_entry(call, algorithm).traffic(call);
}

}  // namespace tessera::plan
