#include "dist/comm/yardstick.h"

#include <vector>

#include "dist/comm/comm_internal.h"
#include "dist/comm/mpi_internal.h"
#include "dist/comm/progress.h"
#include "tensor/check.h"

namespace tessera::dist {
namespace {

// What MPI's calls are made of.
struct Operands {
  MPI_Comm comm;
  float* x;
  int count, ranks, rank;
  std::vector<int> sizes{}, begins{};  // of the shares, where they are not equal

  bool equal() const { return count % ranks == 0; }
  int share() const { return count / ranks; }
  bool root() const { return rank == 0; }
};

Operands operands(const Comm& comm, std::span<float> x) {
  Operands o{comm.state().mpi, x.data(), static_cast<int>(x.size()), comm.size(), comm.rank()};
  for (const plan::Range& part : plan::shares(o.count, o.ranks)) {
    if (o.equal()) break;
    o.sizes.push_back(static_cast<int>(part.size));
    o.begins.push_back(static_cast<int>(part.begin));
  }
  return o;
}

int reduce_scatter(const Operands& o, MPI_Request* request) {
  if (o.equal())
    return request == nullptr
               ? MPI_Reduce_scatter_block(MPI_IN_PLACE, o.x, o.share(), MPI_FLOAT, MPI_SUM, o.comm)
               : MPI_Ireduce_scatter_block(MPI_IN_PLACE, o.x, o.share(), MPI_FLOAT, MPI_SUM, o.comm, request);
  return request == nullptr
             ? MPI_Reduce_scatter(MPI_IN_PLACE, o.x, o.sizes.data(), MPI_FLOAT, MPI_SUM, o.comm)
             : MPI_Ireduce_scatter(MPI_IN_PLACE, o.x, o.sizes.data(), MPI_FLOAT, MPI_SUM, o.comm, request);
}

int all_gather(const Operands& o, MPI_Request* request) {
  if (o.equal())
    return request == nullptr
               ? MPI_Allgather(MPI_IN_PLACE, 0, MPI_FLOAT, o.x, o.share(), MPI_FLOAT, o.comm)
               : MPI_Iallgather(MPI_IN_PLACE, 0, MPI_FLOAT, o.x, o.share(), MPI_FLOAT, o.comm, request);
  return request == nullptr ? MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_FLOAT, o.x, o.sizes.data(), o.begins.data(),
                                             MPI_FLOAT, o.comm)
                            : MPI_Iallgatherv(MPI_IN_PLACE, 0, MPI_FLOAT, o.x, o.sizes.data(),
                                              o.begins.data(), MPI_FLOAT, o.comm, request);
}

int reduce(const Operands& o, MPI_Request* request) {
  const void* from = o.root() ? MPI_IN_PLACE : o.x;
  return request == nullptr ? MPI_Reduce(from, o.x, o.count, MPI_FLOAT, MPI_SUM, 0, o.comm)
                            : MPI_Ireduce(from, o.x, o.count, MPI_FLOAT, MPI_SUM, 0, o.comm, request);
}

int gather(const Operands& o, const std::vector<plan::Range>& parts, MPI_Request* request) {
  const plan::Range mine = parts[o.rank];
  const void* from = o.root() ? MPI_IN_PLACE : o.x + mine.begin;
  const int count = static_cast<int>(mine.size);
  if (o.equal())
    return request == nullptr
               ? MPI_Gather(from, count, MPI_FLOAT, o.x, o.share(), MPI_FLOAT, 0, o.comm)
               : MPI_Igather(from, count, MPI_FLOAT, o.x, o.share(), MPI_FLOAT, 0, o.comm, request);
  return request == nullptr
             ? MPI_Gatherv(from, count, MPI_FLOAT, o.x, o.sizes.data(), o.begins.data(), MPI_FLOAT, 0, o.comm)
             : MPI_Igatherv(from, count, MPI_FLOAT, o.x, o.sizes.data(), o.begins.data(), MPI_FLOAT, 0,
                            o.comm, request);
}

int scatter(const Operands& o, const std::vector<plan::Range>& parts, MPI_Request* request) {
  const plan::Range mine = parts[o.rank];
  void* to = o.root() ? MPI_IN_PLACE : o.x + mine.begin;
  const int count = static_cast<int>(mine.size);
  if (o.equal())
    return request == nullptr
               ? MPI_Scatter(o.x, o.share(), MPI_FLOAT, to, count, MPI_FLOAT, 0, o.comm)
               : MPI_Iscatter(o.x, o.share(), MPI_FLOAT, to, count, MPI_FLOAT, 0, o.comm, request);
  return request == nullptr
             ? MPI_Scatterv(o.x, o.sizes.data(), o.begins.data(), MPI_FLOAT, to, count, MPI_FLOAT, 0, o.comm)
             : MPI_Iscatterv(o.x, o.sizes.data(), o.begins.data(), MPI_FLOAT, to, count, MPI_FLOAT, 0, o.comm,
                             request);
}

int all_to_all(const Operands& o, MPI_Request* request) {
  check(o.count % (2 * o.ranks) == 0, "run_yardstick", o.count, " elements make no equal blocks to and from ",
        o.ranks, " ranks");
  const int block = o.count / 2 / o.ranks;
  float* into = o.x + o.count / 2;
  return request == nullptr ? MPI_Alltoall(o.x, block, MPI_FLOAT, into, block, MPI_FLOAT, o.comm)
                            : MPI_Ialltoall(o.x, block, MPI_FLOAT, into, block, MPI_FLOAT, o.comm, request);
}

// The blocking call, or the I-call if there is a request for it.
int call(Kind kind, const Operands& o, MPI_Request* request) {
  const bool blocks = request == nullptr;
  switch (kind) {
    case Kind::all_reduce:
      return blocks ? MPI_Allreduce(MPI_IN_PLACE, o.x, o.count, MPI_FLOAT, MPI_SUM, o.comm)
                    : MPI_Iallreduce(MPI_IN_PLACE, o.x, o.count, MPI_FLOAT, MPI_SUM, o.comm, request);
    case Kind::reduce_scatter:
      return reduce_scatter(o, request);
    case Kind::all_gather:
      return all_gather(o, request);
    case Kind::broadcast:
      return blocks ? MPI_Bcast(o.x, o.count, MPI_FLOAT, 0, o.comm)
                    : MPI_Ibcast(o.x, o.count, MPI_FLOAT, 0, o.comm, request);
    case Kind::reduce:
      return reduce(o, request);
    case Kind::gather:
      return gather(o, plan::shares(o.count, o.ranks), request);
    case Kind::scatter:
      return scatter(o, plan::shares(o.count, o.ranks), request);
    case Kind::all_to_all:
      return all_to_all(o, request);
    case Kind::barrier:
      return blocks ? MPI_Barrier(o.comm) : MPI_Ibarrier(o.comm, request);
    case Kind::point_to_point:
      break;
  }
  check(false, "run_yardstick", to_string(kind), " is no collective");
  return MPI_SUCCESS;
}

}  // namespace

const char* to_string(Yardstick yardstick) { return yardstick == Yardstick::mpi ? "mpi" : "mpi-nonblocking"; }

void run_yardstick(Yardstick yardstick, const Comm& comm, Kind kind, std::span<float> x) {
  if (comm.size() == 1) return;
  const Operands o = operands(comm, x);
  if (yardstick == Yardstick::mpi) {
    require_success(call(kind, o, nullptr), to_string(kind));
    return;
  }
  MPI_Request request = MPI_REQUEST_NULL;
  require_success(call(kind, o, &request), to_string(kind));
  comm.progress().wait_until([&] {
    int done = 0;
    require_success(MPI_Test(&request, &done, MPI_STATUS_IGNORE), "MPI_Test");
    return done != 0;
  });
}

}  // namespace tessera::dist
