#include "dist/comm/comm.h"

#include <algorithm>
#include <map>

#include "dist/comm/comm_internal.h"
#include "dist/comm/progress.h"

namespace tessera::dist {
Counter& Counter::operator+=(const Counter& other) {
  calls += other.calls;
  messages_sent += other.messages_sent;
  bytes_sent += other.bytes_sent;
  pieces_sent += other.pieces_sent;
  messages_received += other.messages_received;
  bytes_received += other.bytes_received;
  pieces_received += other.pieces_received;
  return *this;
}

std::string to_string(const CommName& name) {
  return name.purpose.empty() ? name.axis : name.axis + " " + name.purpose;
}

CommState::~CommState() {
  int ended = 0;  // that freeing fails is no reason to end, and a destructor cannot throw
  if (mpi != MPI_COMM_NULL && MPI_Finalized(&ended) == MPI_SUCCESS && ended == 0) MPI_Comm_free(&mpi);
}

MPI_Comm duplicate_mpi(MPI_Comm mpi, Progress& progress) {
  MPI_Comm copy = MPI_COMM_NULL;
  MPI_Request request = MPI_REQUEST_NULL;
  require_success(MPI_Comm_idup(mpi, &copy, &request), "MPI_Comm_idup");
  progress.wait_until([&] {
    int done = 0;
    require_success(MPI_Test(&request, &done, MPI_STATUS_IGNORE), "MPI_Test");
    return done != 0;
  });
  require_success(MPI_Comm_set_errhandler(copy, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  return copy;
}

void set_nodes(CommState& state, std::vector<int> nodes) {
  state.nodes = std::move(nodes);
  std::map<int, std::vector<int>> by_number;
  for (int rank = 0; rank < state.size(); ++rank) by_number[state.nodes[rank]].push_back(rank);
  state.ranks_by_node.clear();
  state.ranks_per_node = 1;
  for (auto& [number, ranks] : by_number) {
    state.ranks_per_node = std::max(state.ranks_per_node, static_cast<int>(ranks.size()));
    state.ranks_by_node.push_back(std::move(ranks));
  }
}

void set_network(const Comm& comm, const plan::Network& network) { *comm.state().network = network; }

const plan::Network& Comm::network() const { return *state_->network; }

int Comm::rank() const { return state_->rank; }
int Comm::size() const { return state_->size(); }
const CommName& Comm::name() const { return state_->name; }
const std::vector<int>& Comm::world_ranks() const { return state_->world_ranks; }
const std::vector<int>& Comm::nodes() const { return state_->nodes; }

int Comm::ranks_on_node() const {
  return static_cast<int>(std::ranges::count(state_->nodes, state_->nodes[state_->rank]));
}

int Comm::cores_on_node() const { return state_->cores_on_node; }

Progress& Comm::progress() const { return *state_->progress; }

const Counter& Comm::counter(Kind kind, Algorithm algorithm) const {
  return state_->counter(kind, algorithm);
}

Counter Comm::counter(Kind kind) const {
  Counter sum;
  for (const Counter& counter : state_->counters[static_cast<std::size_t>(kind)]) sum += counter;
  return sum;
}

Counter Comm::counter() const {
  Counter sum;
  for (int kind = 0; kind < kNumKinds; ++kind) sum += counter(static_cast<Kind>(kind));
  return sum;
}

}  // namespace tessera::dist
