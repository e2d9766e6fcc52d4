#include <algorithm>
#include <numeric>
#include <set>
#include <vector>

#include "dist/comm/collectives.h"
#include "dist/comm/comm_internal.h"
#include "tensor/check.h"

namespace tessera::dist {
namespace {

struct Entry {
  Index color, key;
  int rank;
};

// What all ranks of `comm` ask for.
std::vector<Entry> exchange(const Comm& comm, int color, int key) {
  std::vector<Index> numbers(2 * comm.size());
  numbers[2 * comm.rank()] = color;
  numbers[2 * comm.rank() + 1] = key;
  all_gather(comm, numbers);
  std::vector<Entry> entries;
  for (int rank = 0; rank < comm.size(); ++rank)
    entries.push_back({numbers[2 * rank], numbers[2 * rank + 1], rank});
  return entries;
}

// The blocking way, for a group that shares its MPI communicator with ranks that may not be splitting theirs
// now.
MPI_Comm create_mpi(MPI_Comm mpi, const std::vector<int>& mpi_ranks) {
  MPI_Group all = MPI_GROUP_NULL, group = MPI_GROUP_NULL;
  MPI_Comm result = MPI_COMM_NULL;
  require_success(MPI_Comm_group(mpi, &all), "MPI_Comm_group");
  require_success(MPI_Group_incl(all, static_cast<int>(mpi_ranks.size()), mpi_ranks.data(), &group),
                  "MPI_Group_incl");
  require_success(MPI_Comm_create_group(mpi, group, 0, &result), "MPI_Comm_create_group");
  require_success(MPI_Comm_set_errhandler(result, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  require_success(MPI_Group_free(&group), "MPI_Group_free");
  require_success(MPI_Group_free(&all), "MPI_Group_free");
  return result;
}

bool shares_mpi(const CommState& state) {
  int size = 0;
  require_success(MPI_Comm_size(state.mpi, &size), "MPI_Comm_size");
  return size > state.size();
}

// Its ranks agree on it: they have made as many groups of the parent before, and groups made at once differ
// in their first rank. FNV-1a over words.
std::uint64_t key_of_group(CommState& parent, int first_world_rank) {
  std::uint64_t key = parent.key;
  for (const std::uint64_t word : {++parent.num_groups, static_cast<std::uint64_t>(first_world_rank)})
    key = ((key ^ word) + 14695981039346656037U) * 1099511628211U;
  return key ^ key >> 29;
}

}  // namespace

Comm group(const Comm& comm, const std::vector<int>& members, bool all_alone, CommName name) {
  CommState& parent = comm.state();
  std::vector<int> mpi_ranks, world_ranks, nodes;
  for (const int rank : members) {
    mpi_ranks.push_back(parent.mpi_ranks[rank]);
    world_ranks.push_back(parent.world_ranks[rank]);
    nodes.push_back(parent.nodes[rank]);
  }
  MPI_Comm mpi = MPI_COMM_NULL;
  if (!all_alone && !shares_mpi(parent)) {
    mpi = duplicate_mpi(parent.mpi, *parent.progress);
  } else if (members.size() > 1) {
    mpi = create_mpi(parent.mpi, mpi_ranks);
    std::iota(mpi_ranks.begin(), mpi_ranks.end(), 0);
  }

  auto state = std::make_shared<CommState>(mpi, parent.progress);
  state->name = std::move(name);
  state->rank = static_cast<int>(std::ranges::find(members, comm.rank()) - members.begin());
  state->mpi_ranks = std::move(mpi_ranks);
  state->world_ranks = std::move(world_ranks);
  set_nodes(*state, std::move(nodes));
  state->network = parent.network;
  state->cores_on_node = parent.cores_on_node;
  state->key = key_of_group(parent, state->world_ranks.front());
  return Comm(std::move(state));
}

Comm split(const Comm& comm, int color, int key, CommName name) {
  std::vector<Entry> entries = exchange(comm, color, key);
  std::set<Index> colors;
  for (const Entry& entry : entries) colors.insert(entry.color);
  std::erase_if(entries, [&](const Entry& entry) { return entry.color != color; });
  std::ranges::stable_sort(entries, {}, &Entry::key);
  std::vector<int> members;
  for (const Entry& entry : entries) members.push_back(entry.rank);
  return group(comm, members, std::ssize(colors) == comm.size(), std::move(name));
}

Comm duplicate(const Comm& comm, CommName name) { return split(comm, 0, comm.rank(), std::move(name)); }

Comm duplicate_as_if_on(const std::vector<int>& nodes, const Comm& comm, CommName name) {
  check(std::ssize(nodes) == comm.size(), "duplicate_as_if_on", nodes.size(), " nodes for ", comm.size(),
        " ranks");
  Comm copy = duplicate(comm, std::move(name));
  set_nodes(copy.state(), nodes);
  return copy;
}

}  // namespace tessera::dist
