#include "dist/comm/launch.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <numeric>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "dist/comm/abort_internal.h"
#include "dist/comm/collectives.h"
#include "dist/comm/comm_internal.h"
#include "dist/comm/launcher_internal.h"
#include "dist/comm/node_internal.h"
#include "dist/comm/progress.h"

namespace tessera::dist {
namespace {

constexpr double kDisagree_s = 3;   // how long a rank that refuses waits for the others to refuse, too
constexpr double kUnmatched_s = 3;  // how long messages may take after all bodies have returned

constexpr auto kQuiet = std::chrono::milliseconds(100);  // by when every rank has seen the last barrier

constexpr double kForever_s = std::numeric_limits<double>::max();

// How the body ended here.
struct Ending {
  bool refused = false;
  int status = 0;        // if it returned
  std::string reason{};  // if it refused
};

Ending run(const std::function<int(Comm&)>& body, Comm world) {
  try {
    return {.status = body(world)};
  } catch (const std::invalid_argument& error) {
    return {.refused = true, .reason = error.what()};
  }
}

// Waits for the bodies of all ranks to end. Two numbers for each: whether it refused; its status, or a hash
// of its reason.
std::vector<Index> exchange(const Comm& control, const Ending& mine) {
  std::vector<Index> endings(2 * control.size());
  endings[2 * control.rank()] = mine.refused;
  endings[2 * control.rank() + 1] =
      mine.refused ? static_cast<Index>(std::hash<std::string>{}(mine.reason)) : mine.status;
  const double deadline_s = mine.refused ? now_s() + kDisagree_s : kForever_s;
  const Work work = all_gather_async(control, endings);
  control.progress().wait_until([&] { return work.done() || now_s() > deadline_s; });
  if (!work.done()) fail(mine.reason);
  return endings;
}

// All bodies have returned, so whatever is still under way ends now or never.
void finish_work(Progress& progress) {
  const double deadline_s = now_s() + kUnmatched_s;
  progress.wait_until([&] { return progress.idle() || now_s() > deadline_s; });
  if (!progress.idle()) fail("messages without a match at the end");
}

// The exit status, equal on all ranks.
int agree(const Comm& control, const Ending& mine) {
  const std::vector<Index> endings = exchange(control, mine);
  Index num_refused = 0, status = 0;
  for (int rank = 0; rank < control.size(); ++rank) {
    num_refused += endings[2 * rank];
    status = std::max(status, endings[2 * rank + 1]);
  }
  if (num_refused == 0) {
    finish_work(control.progress());
    return static_cast<int>(status);
  }

  if (num_refused < control.size()) {
    if (mine.refused) fail(mine.reason);
    control.progress().wait_until([] { return false; });  // it ends us, too
  }
  if (control.rank() == 0 || endings[2 * control.rank() + 1] != endings[1]) say(mine.reason);
  if (!control.progress().idle()) abort_job(2);
  return 2;
}

Comm make_world(std::shared_ptr<Progress> progress, CommName name) {
  auto state = std::make_shared<CommState>(duplicate_mpi(MPI_COMM_WORLD, *progress), progress);
  int ranks = 0;
  require_success(MPI_Comm_rank(state->mpi, &state->rank), "MPI_Comm_rank");
  require_success(MPI_Comm_size(state->mpi, &ranks), "MPI_Comm_size");
  state->mpi_ranks.resize(ranks);
  std::iota(state->mpi_ranks.begin(), state->mpi_ranks.end(), 0);
  state->world_ranks = state->mpi_ranks;
  state->name = std::move(name);

  std::vector<Place> places(ranks);
  places[state->rank] = this_place();
  all_gather(Comm(state), std::as_writable_bytes(std::span(places)));  // an equal share from each
  set_nodes(*state, nodes_of(places));
  state->cores_on_node = cores_on_node(places, state->rank);
  return Comm(state);
}

// Over UCX's TCP a rank's flush within MPI_Finalize waits for an answer of every peer, and who has got all of
// its own goes to the launcher's barrier, where it answers nobody. So a rank must not answer a peer that
// already leaves before it asks itself: after our barrier all ranks let go of MPI, until the last of them
// has. Measured over two hosts, runs that ended at once: 3 of 42 hung with the barrier alone, none of 60 so.
void leave_together(const Comm& control) {
  barrier(control);
  if (control.ranks_on_node() < control.size()) std::this_thread::sleep_for(kQuiet);
}

int run_ranks(const std::function<int(Comm&)>& body) {
  const Comm control = make_world(std::make_shared<Progress>(), {"world", "control"});
  control.progress().set_crowded(control.ranks_on_node() > control.cores_on_node());
  const int status = agree(control, run(body, duplicate(control, {"world", ""})));
  leave_together(control);
  return status;
}

// How many ranks there are.
int begin_mpi(int argc, char** argv) {
  int provided = 0, rank = 0, ranks = 1;
  require_success(MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided), "MPI_Init_thread");
  require_success(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  require_success(MPI_Comm_rank(MPI_COMM_WORLD, &rank), "MPI_Comm_rank");
  require_success(MPI_Comm_size(MPI_COMM_WORLD, &ranks), "MPI_Comm_size");
  set_speaker(rank, ranks);
  if (provided < MPI_THREAD_FUNNELED) throw std::runtime_error("this MPI allows no other threads");
  return ranks;
}

}  // namespace

int launch(int argc, char** argv, const std::function<int(Comm& world)>& body) {
  int status = 2;
  try {
    const LauncherFault fault = launcher_fault(begin_mpi(argc, argv));
    install_handlers();
    if (fault.text.empty())
      status = run_ranks(body);
    else if (fault.first)
      say(fault.text);
    require_success(MPI_Finalize(), "MPI_Finalize");
  } catch (const std::exception& error) {
    fail(error.what());
  } catch (...) {
    fail("an exception of unknown type");
  }
  return status;
}

}  // namespace tessera::dist
