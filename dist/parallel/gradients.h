#pragma once

#include <deque>
#include <functional>
#include <memory>

#include "dist/comm/collectives.h"
#include "dist/comm/mesh.h"
#include "dist/parallel/buckets.h"
#include "dist/parallel/placement.h"

namespace tessera::dist {

struct GradientOptions {
  CollectiveOptions collectives{};
  /// Sharded gradients leave after every microbatch and are added up where they are owned, so that only a few
  /// buckets of whole ones exist at a time. Else they stay until the last.
  bool every_microbatch = false;
  /// Whether backward goes on while buckets travel. Without, each is waited for where it starts: the same
  /// bits.
  bool overlap = true;
};

/// The one place that finishes gradients, whatever the strategies: the placement table says what is left to
/// do. Along the axes where a parameter's gradient is partial, it is
///  - reduce-scattered to the owners of its rows, where the parameter is sharded;
///  - summed for all, where it is replicated. Both: first the one, then the other, on the owned rows alone.
///
/// Buckets start from gradient hooks, in their order on every rank: one that is complete waits for those
/// before it. Per step and rank, by ring, n ranks of an axis send (n-1)/n of the bytes for a reduce_scatter
/// (times microbatches with every_microbatch), 2(n-1)/n for a sum. Bit-identical on all replicas.
class GradientFinaliser {
 public:
  /// Makes the communicators it needs, so it is collective over the mesh; sets the hooks of the parameters,
  /// which need storage. @throws std::logic_error as check_complete(), or if buckets are not the table's
  /// parameters.
  GradientFinaliser(const Mesh& mesh, PlacementTable table, Buckets buckets, const GradientOptions& options);
  ~GradientFinaliser();
  GradientFinaliser(const GradientFinaliser&) = delete;
  GradientFinaliser& operator=(const GradientFinaliser&) = delete;

  /// Before each microbatch: whether it is the last.
  void begin_microbatch(bool last);
  /// After the last backward: waits for what is under way. Then each owned_grad is finished; that of a
  /// parameter which no backward reached is zero.
  void finish();

  /// Norm of the gradients of the unique parameters: squares are summed over the axes that shard them;
  /// replicas count once.
  ///
  /// Collective: one all_reduce of one f64 per set of sharding axes. The same bits on all ranks.
  double norm() const;

 private:
  struct Bucket;
  struct NormGroup {
    Comm comm;  // undefined: nothing to sum
    nn::Parameters parameters;
  };

  void add_buckets(const Mesh& mesh, const nn::Parameters& parameters);
  void group_norms(const Mesh& mesh);
  bool takes_part(const Bucket& bucket) const;
  void gradient_ready(Bucket& bucket);
  void start_ready();
  void start(Bucket& bucket);
  void settle(Bucket& bucket);
  void settle_oldest();

  PlacementTable table_;
  GradientOptions options_;
  std::vector<std::unique_ptr<Bucket>> buckets_;
  std::vector<NormGroup> norm_groups_;
  bool last_ = false;
  std::size_t next_ = 0;             // the bucket to start next
  std::deque<Bucket*> in_flight_{};  // being reduced in this microbatch, oldest first
};

}  // namespace tessera::dist
