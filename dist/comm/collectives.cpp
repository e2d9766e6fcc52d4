#include "dist/comm/collectives.h"

#include "dist/plan/barrier.h"
#include "dist/plan/binomial.h"
#include "dist/plan/recursive_doubling.h"
#include "dist/plan/ring.h"
#include "tensor/check.h"

namespace tessera::dist {
namespace {

// Up to here a message's latency outweighs its bytes, so all_reduce takes the fewest rounds.
constexpr Index kLatencyBytes = 128 << 10;

[[noreturn]] void refuse(Kind kind, Algorithm algorithm, const char* expected) {
  check(false, to_string(kind), "has no algorithm ", to_string(algorithm), ", expected automatic or ",
        expected);
  std::abort();
}

Algorithm resolve(Kind kind, const Comm& comm, const Buffer& buffer, const CollectiveOptions& options) {
  if (options.algorithm != Algorithm::automatic) return options.algorithm;
  return choose_algorithm(kind, buffer.bytes(buffer.count()), comm.size());
}

void require(Kind kind, Algorithm algorithm, Algorithm only) {
  if (algorithm != only) refuse(kind, algorithm, to_string(only));
}

// Here, not where bytes are to be summed: all ranks must refuse, and some receive nothing.
void check_summable(Kind kind, const Buffer& buffer) {
  check(buffer.element() != Element::byte, to_string(kind), "bytes cannot be summed");
}

std::vector<plan::Range> checked_parts(Kind kind, const Comm& comm, const Buffer& buffer,
                                       const std::vector<plan::Range>& parts) {
  if (parts.empty()) return plan::shares(buffer.count(), comm.size());
  check(std::ssize(parts) == comm.size(), to_string(kind), parts.size(), " parts for ", comm.size(),
        " ranks");
  for (const plan::Range& part : parts)
    check(part.begin >= 0 && part.end() <= buffer.count(), to_string(kind), "part ", part, " of ",
          buffer.count(), " elements");
  return parts;
}

RunOptions run_options(Kind kind, Algorithm algorithm, const CollectiveOptions& options) {
  return {.kind = kind, .algorithm = algorithm, .reduction = options.reduction, .cutting = options.cutting};
}

template <class T>
T agree(const Comm& comm, T value, Reduction reduction) {
  all_reduce(comm, std::span<T>(&value, 1), {.reduction = reduction});
  return value;
}

}  // namespace

Algorithm choose_algorithm(Kind kind, Index bytes, int ranks) {
  switch (kind) {
    case Kind::all_reduce:
      return bytes <= kLatencyBytes || ranks == 1 ? Algorithm::recursive_doubling : Algorithm::ring;
    case Kind::reduce_scatter:
    case Kind::all_gather:
      return Algorithm::ring;
    case Kind::broadcast:
    case Kind::reduce:
      return Algorithm::binomial;
    case Kind::barrier:
      return Algorithm::dissemination;
    default:
      return Algorithm::direct;
  }
}

Work all_reduce_async(const Comm& comm, const Buffer& buffer, const CollectiveOptions& options) {
  check_summable(Kind::all_reduce, buffer);
  const Algorithm algorithm = resolve(Kind::all_reduce, comm, buffer, options);
  plan::Rounds rounds;
  if (algorithm == Algorithm::ring)
    rounds = plan::ring_all_reduce(comm.rank(), comm.size(), buffer.count());
  else if (algorithm == Algorithm::recursive_doubling)
    rounds = plan::recursive_doubling_all_reduce(comm.rank(), comm.size(), buffer.count());
  else
    refuse(Kind::all_reduce, algorithm, "ring, recursive_doubling");
  return run_async(comm, buffer, std::move(rounds), run_options(Kind::all_reduce, algorithm, options));
}

Work reduce_scatter_async(const Comm& comm, const Buffer& buffer, const std::vector<plan::Range>& parts,
                          const CollectiveOptions& options) {
  check_summable(Kind::reduce_scatter, buffer);
  const Algorithm algorithm = resolve(Kind::reduce_scatter, comm, buffer, options);
  require(Kind::reduce_scatter, algorithm, Algorithm::ring);
  return run_async(
      comm, buffer,
      plan::ring_reduce_scatter(comm.rank(), checked_parts(Kind::reduce_scatter, comm, buffer, parts)),
      run_options(Kind::reduce_scatter, algorithm, options));
}

Work all_gather_async(const Comm& comm, const Buffer& buffer, const std::vector<plan::Range>& parts,
                      const CollectiveOptions& options) {
  const Algorithm algorithm = resolve(Kind::all_gather, comm, buffer, options);
  require(Kind::all_gather, algorithm, Algorithm::ring);
  return run_async(comm, buffer,
                   plan::ring_all_gather(comm.rank(), checked_parts(Kind::all_gather, comm, buffer, parts)),
                   run_options(Kind::all_gather, algorithm, options));
}

Work broadcast_async(const Comm& comm, const Buffer& buffer, int root, const CollectiveOptions& options) {
  const Algorithm algorithm = resolve(Kind::broadcast, comm, buffer, options);
  require(Kind::broadcast, algorithm, Algorithm::binomial);
  return run_async(comm, buffer, plan::binomial_broadcast(comm.rank(), comm.size(), root, buffer.count()),
                   run_options(Kind::broadcast, algorithm, options));
}

Work reduce_async(const Comm& comm, const Buffer& buffer, int root, const CollectiveOptions& options) {
  check_summable(Kind::reduce, buffer);
  const Algorithm algorithm = resolve(Kind::reduce, comm, buffer, options);
  require(Kind::reduce, algorithm, Algorithm::binomial);
  return run_async(comm, buffer, plan::binomial_reduce(comm.rank(), comm.size(), root, buffer.count()),
                   run_options(Kind::reduce, algorithm, options));
}

Work barrier_async(const Comm& comm) {
  const Buffer token(Tensor::zeros({1}, DType::i32, Category::communication));
  return run_async(comm, token, plan::dissemination_barrier(comm.rank(), comm.size()),
                   {.kind = Kind::barrier, .algorithm = Algorithm::dissemination});
}

void all_reduce(const Comm& comm, const Buffer& buffer, const CollectiveOptions& options) {
  all_reduce_async(comm, buffer, options).wait();
}

void reduce_scatter(const Comm& comm, const Buffer& buffer, const std::vector<plan::Range>& parts,
                    const CollectiveOptions& options) {
  reduce_scatter_async(comm, buffer, parts, options).wait();
}

void all_gather(const Comm& comm, const Buffer& buffer, const std::vector<plan::Range>& parts,
                const CollectiveOptions& options) {
  all_gather_async(comm, buffer, parts, options).wait();
}

void broadcast(const Comm& comm, const Buffer& buffer, int root, const CollectiveOptions& options) {
  broadcast_async(comm, buffer, root, options).wait();
}

void reduce(const Comm& comm, const Buffer& buffer, int root, const CollectiveOptions& options) {
  reduce_async(comm, buffer, root, options).wait();
}

void barrier(const Comm& comm) { barrier_async(comm).wait(); }

double sum(const Comm& comm, double value) { return agree(comm, value, Reduction::sum); }
double max(const Comm& comm, double value) { return agree(comm, value, Reduction::max); }
Index sum_index(const Comm& comm, Index value) { return agree(comm, value, Reduction::sum); }
Index max_index(const Comm& comm, Index value) { return agree(comm, value, Reduction::max); }

}  // namespace tessera::dist
