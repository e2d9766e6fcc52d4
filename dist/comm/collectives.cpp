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

// A collective as the caller asks for it. No parts: even ones.
struct Request {
  Kind kind;
  const Parts& parts;
  int root = 0;
};
const Parts kEven;

// Even parts of `count` elements; of all_to_all, even blocks of either half.
Parts even_parts(Kind kind, Index count, int ranks) {
  switch (kind) {
    case Kind::reduce_scatter:
    case Kind::all_gather:
    case Kind::gather:
    case Kind::scatter:
      return plan::shares(count, ranks);
    case Kind::all_to_all:
      check(count % (2 * ranks) == 0, "all_to_all", count / 2, " elements make no equal blocks for ", ranks,
            " ranks");
      return plan::shares(count, 2 * ranks);
    default:
      return {};
  }
}

const std::shared_ptr<const plan::Schedule>& schedule_of(CommState& state, const Request& request,
                                                         Index count, Algorithm algorithm) {
  CommState::LastSchedule& last =
      state.schedules[static_cast<std::size_t>(request.kind)][static_cast<std::size_t>(algorithm)];
  if (last.count == count && last.root == request.root && last.parts == request.parts) return last.schedule;
  const Parts parts = request.parts.empty() ? even_parts(request.kind, count, state.size()) : request.parts;
  auto schedule = std::make_shared<const plan::Schedule>(
      plan::schedule({.kind = request.kind,
                      .rank = state.rank,
                      .ranks = state.size(),
                      .count = count,
                      .parts = parts,
                      .root = request.root,
                      .nodes = algorithm == Algorithm::hierarchical ? state.ranks_by_node : plan::Nodes{}},
                     algorithm));
  last = {count, request.root, request.parts, std::move(schedule)};
  return last.schedule;
}

Work begin(const Comm& comm, Buffer buffer, const Request& request, Index payload, Algorithm algorithm,
           const CollectiveOptions& options) {
  const auto& schedule = schedule_of(comm.state(), request, buffer.count(), algorithm);
  if (!schedule->order.empty()) buffer = buffer.arranged(schedule->order);
  if (schedule->workspace > 0) buffer.append(Buffer::scratch(buffer.element(), schedule->workspace));
  return run_async(comm, std::move(buffer), SharedRounds(schedule, &schedule->rounds),
                   {.kind = request.kind,
                    .algorithm = algorithm,
                    .reduction = options.reduction,
                    .cutting = options.cutting,
                    .bytes = payload});
}

Work begin(const Comm& comm, Buffer buffer, const Request& request, const CollectiveOptions& options) {
  const Index bytes = buffer.bytes(buffer.count());
  const Algorithm algorithm = options.algorithm == Algorithm::automatic
                                  ? automatic_algorithm(comm, request.kind, bytes)
                                  : options.algorithm;
  return begin(comm, std::move(buffer), request, bytes, algorithm, options);
}

// ---- all_to_all ----

void check_blocks(const char* what, const Comm& comm, const Buffer& buffer, const std::vector<Index>& sizes) {
  check(std::ssize(sizes) == comm.size(), "all_to_all", sizes.size(), " blocks to ", what,
        ", expected one for each of ", comm.size(), " ranks");
  Index count = 0;
  for (const Index size : sizes) count += size;
  check(count == buffer.count(), "all_to_all", "blocks to ", what, " have ", count, " elements, the buffer ",
        buffer.count());
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

Work all_reduce_async(const Comm& comm, Buffer buffer, const CollectiveOptions& options) {
  check_summable(Kind::all_reduce, buffer);
  return begin(comm, std::move(buffer), {Kind::all_reduce, kEven}, options);
}

Work reduce_scatter_async(const Comm& comm, Buffer buffer, const Parts& parts,
                          const CollectiveOptions& options) {
  check_summable(Kind::reduce_scatter, buffer);
  return begin(comm, std::move(buffer), {Kind::reduce_scatter, parts}, options);
}

Work all_gather_async(const Comm& comm, Buffer buffer, const Parts& parts, const CollectiveOptions& options) {
  return begin(comm, std::move(buffer), {Kind::all_gather, parts}, options);
}

Work broadcast_async(const Comm& comm, Buffer buffer, int root, const CollectiveOptions& options) {
  return begin(comm, std::move(buffer), {Kind::broadcast, kEven, root}, options);
}

Work reduce_async(const Comm& comm, Buffer buffer, int root, const CollectiveOptions& options) {
  check_summable(Kind::reduce, buffer);
  return begin(comm, std::move(buffer), {Kind::reduce, kEven, root}, options);
}

Work gather_async(const Comm& comm, Buffer buffer, int root, const Parts& parts,
                  const CollectiveOptions& options) {
  return begin(comm, std::move(buffer), {Kind::gather, parts, root}, options);
}

Work scatter_async(const Comm& comm, Buffer buffer, int root, const Parts& parts,
                   const CollectiveOptions& options) {
  return begin(comm, std::move(buffer), {Kind::scatter, parts, root}, options);
}

Work all_to_all_async(const Comm& comm, Buffer send, const Buffer& receive,
                      const CollectiveOptions& options) {
  check(send.count() == receive.count(), "all_to_all", send.count(), " elements to send, room for ",
        receive.count());
  const Index bytes = send.bytes(send.count());
  const Algorithm algorithm = options.algorithm == Algorithm::automatic
                                  ? automatic_algorithm(comm, Kind::all_to_all, bytes)
                                  : options.algorithm;
  send.append(receive);
  return begin(comm, std::move(send), {Kind::all_to_all, kEven}, bytes, algorithm, options);
}

Work all_to_all_async(const Comm& comm, Buffer send, const Buffer& receive, const BlockSizes& sizes,
                      const CollectiveOptions& options) {
  check_blocks("send", comm, send, sizes.sends);
  check_blocks("receive", comm, receive, sizes.receives);
  Parts parts = plan::in_a_row(sizes.sends);
  const Parts received = plan::in_a_row(sizes.receives, send.count());
  parts.insert(parts.end(), received.begin(), received.end());
  // A rank cannot know whether other ranks' blocks are of one size.
  const Algorithm algorithm =
      options.algorithm == Algorithm::automatic ? Algorithm::pairwise : options.algorithm;
  const Index bytes = send.bytes(send.count());
  send.append(receive);
  return begin(comm, std::move(send), {Kind::all_to_all, parts}, bytes, algorithm, options);
}

Work all_to_all_async(const Comm& comm, const Buffer& buffer, const CollectiveOptions& options) {
  Buffer send = Buffer::scratch(buffer.element(), buffer.count());
  buffer.copy_to(send);
  return all_to_all_async(comm, std::move(send), buffer, options);
}

Work barrier_async(const Comm& comm) {
  const Buffer token(Tensor::zeros({1}, DType::i32, Category::communication));
  return begin(comm, token, {Kind::barrier, kEven}, {});
}

void all_reduce(const Comm& comm, Buffer buffer, const CollectiveOptions& options) {
  all_reduce_async(comm, std::move(buffer), options).wait();
}

void reduce_scatter(const Comm& comm, Buffer buffer, const Parts& parts, const CollectiveOptions& options) {
  reduce_scatter_async(comm, std::move(buffer), parts, options).wait();
}

void all_gather(const Comm& comm, Buffer buffer, const Parts& parts, const CollectiveOptions& options) {
  all_gather_async(comm, std::move(buffer), parts, options).wait();
}

void broadcast(const Comm& comm, Buffer buffer, int root, const CollectiveOptions& options) {
  broadcast_async(comm, std::move(buffer), root, options).wait();
}

void reduce(const Comm& comm, Buffer buffer, int root, const CollectiveOptions& options) {
  reduce_async(comm, std::move(buffer), root, options).wait();
}

void gather(const Comm& comm, Buffer buffer, int root, const Parts& parts, const CollectiveOptions& options) {
  gather_async(comm, std::move(buffer), root, parts, options).wait();
}

void scatter(const Comm& comm, Buffer buffer, int root, const Parts& parts,
             const CollectiveOptions& options) {
  scatter_async(comm, std::move(buffer), root, parts, options).wait();
}

void all_to_all(const Comm& comm, Buffer send, const Buffer& receive, const CollectiveOptions& options) {
  all_to_all_async(comm, std::move(send), receive, options).wait();
}

void all_to_all(const Comm& comm, Buffer send, const Buffer& receive, const BlockSizes& sizes,
                const CollectiveOptions& options) {
  all_to_all_async(comm, std::move(send), receive, sizes, options).wait();
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
