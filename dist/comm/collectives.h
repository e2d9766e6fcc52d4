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
/// What an algorithm sends is in dist/plan, at the function of its name; Comm::counter counts it.
///
/// @throws std::invalid_argument before anything is sent: for an algorithm that the collective has not, parts
/// that overlap or leave the buffer, a root out of range, bytes to be summed, cutting that cannot be.
namespace tessera::dist {

struct CollectiveOptions {
  Algorithm algorithm = Algorithm::automatic;
  Reduction reduction = Reduction::sum;
  Cutting cutting{};
};

/// The algorithm that `automatic` stands for: a pure function of kind, bytes and ranks.
Algorithm choose_algorithm(Kind kind, Index bytes, int ranks);

/// Sum over ranks, on all ranks, to which it is bit-identical. ring, recursive_doubling.
void all_reduce(const Comm& comm, const Buffer& buffer, const CollectiveOptions& options = {});
Work all_reduce_async(const Comm& comm, const Buffer& buffer, const CollectiveOptions& options = {});

/// Rank i ends with the sum over ranks of parts[i]; what its other parts hold then means nothing. Without
/// parts: plan::shares. ring.
void reduce_scatter(const Comm& comm, const Buffer& buffer, const std::vector<plan::Range>& parts = {},
                    const CollectiveOptions& options = {});
Work reduce_scatter_async(const Comm& comm, const Buffer& buffer, const std::vector<plan::Range>& parts = {},
                          const CollectiveOptions& options = {});

/// All ranks end with rank i's parts[i], for all i. Without parts: plan::shares. ring.
void all_gather(const Comm& comm, const Buffer& buffer, const std::vector<plan::Range>& parts = {},
                const CollectiveOptions& options = {});
Work all_gather_async(const Comm& comm, const Buffer& buffer, const std::vector<plan::Range>& parts = {},
                      const CollectiveOptions& options = {});

/// All ranks end with what the root has. binomial.
void broadcast(const Comm& comm, const Buffer& buffer, int root, const CollectiveOptions& options = {});
Work broadcast_async(const Comm& comm, const Buffer& buffer, int root, const CollectiveOptions& options = {});

/// The root ends with the sum over ranks; what other ranks' buffers hold then means nothing. binomial.
void reduce(const Comm& comm, const Buffer& buffer, int root, const CollectiveOptions& options = {});
Work reduce_async(const Comm& comm, const Buffer& buffer, int root, const CollectiveOptions& options = {});

/// Done on no rank before all have called. dissemination.
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
