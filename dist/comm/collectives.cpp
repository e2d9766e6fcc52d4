#include "dist/comm/collectives.h"

#include <algorithm>

#include "dist/comm/comm_internal.h"
#include "tensor/check.h"

namespace tessera::dist {
namespace {

// Here, not where bytes are to be summed: all ranks must refuse, and some receive nothing.
void check_summable(Kind kind, const Buffer& buffer) {
  check(buffer.element() != Element::byte, to_string(kind), "bytes cannot be summed");
}

Work begin(const Comm& comm, Buffer buffer, plan::Call call, Algorithm algorithm,
           const CollectiveOptions& options) {
  call.rank = comm.rank();
  call.ranks = comm.size();
  call.count = buffer.count();
  if (algorithm == Algorithm::hierarchical) call.nodes = comm.state().ranks_by_node;
  const Index payload =
      buffer.bytes(call.kind == Kind::all_to_all ? plan::hull(call.parts, 0, call.ranks).size : call.count);
  plan::Schedule schedule = plan::schedule(call, algorithm);
  if (!schedule.order.empty()) buffer = buffer.arranged(schedule.order);
  if (schedule.workspace > 0)
    buffer = buffer.followed_by(Buffer::scratch(buffer.element(), schedule.workspace));
  return run_async(comm, std::move(buffer), std::move(schedule.rounds),
                   {.kind = call.kind,
                    .algorithm = algorithm,
                    .reduction = options.reduction,
                    .cutting = options.cutting,
                    .bytes = payload});
}

Work begin(const Comm& comm, const Buffer& buffer, plan::Call call, const CollectiveOptions& options) {
  const Algorithm algorithm = options.algorithm == Algorithm::automatic
                                  ? automatic_algorithm(comm, call.kind, buffer.bytes(buffer.count()))
                                  : options.algorithm;
  return begin(comm, buffer, std::move(call), algorithm, options);
}

Parts parts_or_shares(const Comm& comm, const Buffer& buffer, const Parts& parts) {
  return parts.empty() ? plan::shares(buffer.count(), comm.size()) : parts;
}

// ---- all_to_all ----

std::vector<Index> equal_blocks(const Comm& comm, const Buffer& buffer) {
  check(buffer.count() % comm.size() == 0, "all_to_all", buffer.count(),
        " elements make no equal blocks for ", comm.size(), " ranks");
  return std::vector<Index>(comm.size(), buffer.count() / comm.size());
}

void check_blocks(const char* what, const Comm& comm, const Buffer& buffer, const std::vector<Index>& sizes) {
  check(std::ssize(sizes) == comm.size(), "all_to_all", sizes.size(), " blocks to ", what,
        ", expected one for each of ", comm.size(), " ranks");
  Index count = 0;
  for (const Index size : sizes) count += size;
  check(count == buffer.count(), "all_to_all", "blocks to ", what, " have ", count, " elements, the buffer ",
        buffer.count());
}

Work begin_all_to_all(const Comm& comm, const Buffer& send, const Buffer& receive, const BlockSizes& sizes,
                      Algorithm algorithm, const CollectiveOptions& options) {
  check_blocks("send", comm, send, sizes.sends);
  check_blocks("receive", comm, receive, sizes.receives);
  std::vector<Index> all = sizes.sends;
  all.insert(all.end(), sizes.receives.begin(), sizes.receives.end());
  return begin(comm, send.followed_by(receive), {.kind = Kind::all_to_all, .parts = plan::in_a_row(all)},
               algorithm, options);
}

template <class T>
T agree(const Comm& comm, T value, Reduction reduction) {
  all_reduce(comm, std::span<T>(&value, 1), {.reduction = reduction});
  return value;
}

}  // namespace

Algorithm automatic_algorithm(const Comm& comm, Kind kind, Index bytes) {
  CommState& state = comm.state();
  CommState::Choice& last = state.choices[static_cast<std::size_t>(kind)];
  if (last.bytes != bytes || !(last.network == *state.network))
    last = {bytes, plan::choose_algorithm(kind, static_cast<double>(bytes), state.topology(), *state.network),
            *state.network};
  return last.algorithm;
}

Work all_reduce_async(const Comm& comm, const Buffer& buffer, const CollectiveOptions& options) {
  check_summable(Kind::all_reduce, buffer);
  return begin(comm, buffer, {.kind = Kind::all_reduce}, options);
}

Work reduce_scatter_async(const Comm& comm, const Buffer& buffer, const Parts& parts,
                          const CollectiveOptions& options) {
  check_summable(Kind::reduce_scatter, buffer);
  return begin(comm, buffer, {.kind = Kind::reduce_scatter, .parts = parts_or_shares(comm, buffer, parts)},
               options);
}

Work all_gather_async(const Comm& comm, const Buffer& buffer, const Parts& parts,
                      const CollectiveOptions& options) {
  return begin(comm, buffer, {.kind = Kind::all_gather, .parts = parts_or_shares(comm, buffer, parts)},
               options);
}

Work broadcast_async(const Comm& comm, const Buffer& buffer, int root, const CollectiveOptions& options) {
  return begin(comm, buffer, {.kind = Kind::broadcast, .root = root}, options);
}

Work reduce_async(const Comm& comm, const Buffer& buffer, int root, const CollectiveOptions& options) {
  check_summable(Kind::reduce, buffer);
  return begin(comm, buffer, {.kind = Kind::reduce, .root = root}, options);
}

Work gather_async(const Comm& comm, const Buffer& buffer, int root, const Parts& parts,
                  const CollectiveOptions& options) {
  return begin(comm, buffer,
               {.kind = Kind::gather, .parts = parts_or_shares(comm, buffer, parts), .root = root}, options);
}

Work scatter_async(const Comm& comm, const Buffer& buffer, int root, const Parts& parts,
                   const CollectiveOptions& options) {
  return begin(comm, buffer,
               {.kind = Kind::scatter, .parts = parts_or_shares(comm, buffer, parts), .root = root}, options);
}

Work all_to_all_async(const Comm& comm, const Buffer& send, const Buffer& receive,
                      const CollectiveOptions& options) {
  const Algorithm algorithm = options.algorithm == Algorithm::automatic
                                  ? automatic_algorithm(comm, Kind::all_to_all, send.bytes(send.count()))
                                  : options.algorithm;
  return begin_all_to_all(comm, send, receive, {equal_blocks(comm, send), equal_blocks(comm, receive)},
                          algorithm, options);
}

Work all_to_all_async(const Comm& comm, const Buffer& send, const Buffer& receive, const BlockSizes& sizes,
                      const CollectiveOptions& options) {
  // A rank cannot know whether other ranks' blocks are of one size.
  const Algorithm algorithm =
      options.algorithm == Algorithm::automatic ? Algorithm::pairwise : options.algorithm;
  return begin_all_to_all(comm, send, receive, sizes, algorithm, options);
}

Work all_to_all_async(const Comm& comm, const Buffer& buffer, const CollectiveOptions& options) {
  Buffer send = Buffer::scratch(buffer.element(), buffer.count());
  buffer.copy_to(send);
  return all_to_all_async(comm, send, buffer, options);
}

Work barrier_async(const Comm& comm) {
  const Buffer token(Tensor::zeros({1}, DType::i32, Category::communication));
  return begin(comm, token, {.kind = Kind::barrier}, {});
}

void all_reduce(const Comm& comm, const Buffer& buffer, const CollectiveOptions& options) {
  all_reduce_async(comm, buffer, options).wait();
}

void reduce_scatter(const Comm& comm, const Buffer& buffer, const Parts& parts,
                    const CollectiveOptions& options) {
  reduce_scatter_async(comm, buffer, parts, options).wait();
}

void all_gather(const Comm& comm, const Buffer& buffer, const Parts& parts,
                const CollectiveOptions& options) {
  all_gather_async(comm, buffer, parts, options).wait();
}

void broadcast(const Comm& comm, const Buffer& buffer, int root, const CollectiveOptions& options) {
  broadcast_async(comm, buffer, root, options).wait();
}

void reduce(const Comm& comm, const Buffer& buffer, int root, const CollectiveOptions& options) {
  reduce_async(comm, buffer, root, options).wait();
}

void gather(const Comm& comm, const Buffer& buffer, int root, const Parts& parts,
            const CollectiveOptions& options) {
  gather_async(comm, buffer, root, parts, options).wait();
}

void scatter(const Comm& comm, const Buffer& buffer, int root, const Parts& parts,
             const CollectiveOptions& options) {
  scatter_async(comm, buffer, root, parts, options).wait();
}

void all_to_all(const Comm& comm, const Buffer& send, const Buffer& receive,
                const CollectiveOptions& options) {
  all_to_all_async(comm, send, receive, options).wait();
}

void all_to_all(const Comm& comm, const Buffer& send, const Buffer& receive, const BlockSizes& sizes,
                const CollectiveOptions& options) {
  all_to_all_async(comm, send, receive, sizes, options).wait();
}

void all_to_all(const Comm& comm, const Buffer& buffer, const CollectiveOptions& options) {
  all_to_all_async(comm, buffer, options).wait();
}

void barrier(const Comm& comm) { barrier_async(comm).wait(); }

double sum(const Comm& comm, double value) { return agree(comm, value, Reduction::sum); }
double max(const Comm& comm, double value) { return agree(comm, value, Reduction::max); }
Index sum_index(const Comm& comm, Index value) { return agree(comm, value, Reduction::sum); }
Index max_index(const Comm& comm, Index value) { return agree(comm, value, Reduction::max); }

}  // namespace tessera::dist
