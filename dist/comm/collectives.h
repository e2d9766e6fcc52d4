#pragma once

#include <concepts>
#include <vector>

#include "dist/comm/work.h"

/// Every collective works in place on a buffer: a tensor, a list of tensors, or a span of numbers. All ranks
/// of the communicator call with the same count, element type, parts, root and options. The blocking form
/// returns when this rank's part is done, and is collective(...).wait(); the _async form returns at once, and
/// the buffer must not be touched until the work is done.
///
/// Results are reproducible: bits depend on ranks, count, parts and algorithm, never on timing or cutting.
/// What each algorithm sends is in dist/plan, at the function of its name, and in dist/README.md;
/// Comm::counter counts it. Which there are: plan::algorithms_of.
///
/// @throws std::invalid_argument before anything is sent: for an algorithm that the collective has not, parts
/// that overlap or leave the buffer, a root out of range, bytes to be summed, cutting that cannot be.
namespace tessera::dist {

struct CollectiveOptions {
  Algorithm algorithm = Algorithm::automatic;
  Reduction reduction = Reduction::sum;
  Cutting cutting{};
};

/// One range of a buffer for each rank: in any order, with gaps or without. None: plan::shares.
using Parts = std::vector<plan::Range>;

/// The algorithm that `automatic` stands for here: plan::choose_algorithm for the communicator's ranks, nodes
/// and network.
Algorithm automatic_algorithm(const Comm& comm, Kind kind, Index bytes);

/// Sum over ranks, on all ranks, to which it is bit-identical.
void all_reduce(const Comm& comm, Buffer buffer, const CollectiveOptions& options = {});
Work all_reduce_async(const Comm& comm, Buffer buffer, const CollectiveOptions& options = {});

/// Rank i ends with the sum over ranks of parts[i]; what its other parts hold then means nothing.
void reduce_scatter(const Comm& comm, Buffer buffer, const Parts& parts = {},
                    const CollectiveOptions& options = {});
Work reduce_scatter_async(const Comm& comm, Buffer buffer, const Parts& parts = {},
                          const CollectiveOptions& options = {});

/// All ranks end with rank i's parts[i], for all i.
void all_gather(const Comm& comm, Buffer buffer, const Parts& parts = {},
                const CollectiveOptions& options = {});
Work all_gather_async(const Comm& comm, Buffer buffer, const Parts& parts = {},
                      const CollectiveOptions& options = {});

/// All ranks end with what the root has.
void broadcast(const Comm& comm, Buffer buffer, int root, const CollectiveOptions& options = {});
Work broadcast_async(const Comm& comm, Buffer buffer, int root, const CollectiveOptions& options = {});

/// The root ends with the sum over ranks; what other ranks' buffers hold then means nothing.
void reduce(const Comm& comm, Buffer buffer, int root, const CollectiveOptions& options = {});
Work reduce_async(const Comm& comm, Buffer buffer, int root, const CollectiveOptions& options = {});

/// The root ends with rank i's parts[i], for all i; what other ranks' parts but their own hold then means
/// nothing.
void gather(const Comm& comm, Buffer buffer, int root, const Parts& parts = {},
            const CollectiveOptions& options = {});
Work gather_async(const Comm& comm, Buffer buffer, int root, const Parts& parts = {},
                  const CollectiveOptions& options = {});

/// Rank i ends with the root's parts[i]; what its other parts hold then means nothing, except on the root.
void scatter(const Comm& comm, Buffer buffer, int root, const Parts& parts = {},
             const CollectiveOptions& options = {});
Work scatter_async(const Comm& comm, Buffer buffer, int root, const Parts& parts = {},
                   const CollectiveOptions& options = {});

/// Of how many elements each of a rank's blocks is, in the order of the ranks they go to, or come from.
struct BlockSizes {
  std::vector<Index> sends, receives;
};

/// Rank i's block for rank j, in `send`, becomes rank j's block from rank i, in `receive`. Blocks lie in
/// order of rank, in a row; without sizes all are equal, and the count is a multiple of the ranks. What i
/// says it sends to j is what j says it receives from i. The two buffers do not overlap, and have one element
/// type.
void all_to_all(const Comm& comm, Buffer send, const Buffer& receive, const CollectiveOptions& options = {});
void all_to_all(const Comm& comm, Buffer send, const Buffer& receive, const BlockSizes& sizes,
                const CollectiveOptions& options = {});
Work all_to_all_async(const Comm& comm, Buffer send, const Buffer& receive,
                      const CollectiveOptions& options = {});
Work all_to_all_async(const Comm& comm, Buffer send, const Buffer& receive, const BlockSizes& sizes,
                      const CollectiveOptions& options = {});
/// Equal blocks, in place: what is sent is copied first.
void all_to_all(const Comm& comm, const Buffer& buffer, const CollectiveOptions& options = {});
Work all_to_all_async(const Comm& comm, const Buffer& buffer, const CollectiveOptions& options = {});

/// Done on no rank before all have called.
void barrier(const Comm& comm);
Work barrier_async(const Comm& comm);

/// One number's sum, or largest value, over ranks: what ranks agree on. Blocking.
double sum(const Comm& comm, double value);
double max(const Comm& comm, double value);
Index sum_index(const Comm& comm, Index value);
Index max_index(const Comm& comm, Index value);
Index sum(const Comm& comm, std::integral auto value) { return sum_index(comm, static_cast<Index>(value)); }
Index max(const Comm& comm, std::integral auto value) { return max_index(comm, static_cast<Index>(value)); }

}  // namespace tessera::dist
