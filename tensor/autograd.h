#pragma once

#include <functional>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "tensor/context.h"
#include "tensor/tensor.h"

namespace tessera {

/// Adds an op's share to its inputs' gradients, given the gradient of its output, which it may overwrite if
/// dy.unique().
using Backward = std::function<void(Tensor dy)>;
/// What a parameter's owner does once a backward has added all of its gradient.
using GradientHook = std::function<void()>;

/// One recorded op: whose gradients it adds to, and how. It never holds its own output.
struct Node {
  std::vector<std::shared_ptr<Slot>> inputs;
  Backward backward;
};

/// The gradient side of a tensor: of a leaf (a parameter, or an input under test), or of a recorded op's
/// output.
struct Slot {
  Slot() = default;
  /// Frees the graph behind it without recursion: graphs can be deep.
  ~Slot();
  Slot(const Slot&) = delete;
  Slot& operator=(const Slot&) = delete;

  bool leaf = false;
  Shape shape;
  DType dtype = DType::f32;
  Category category = Category::activation;  ///< what the gradient's memory counts as
  Tensor grad;                               ///< undefined until something is added
  std::unique_ptr<Node> producer;            ///< freed as soon as backward has run it
  GradientHook hook;                         ///< leaves only
  std::uint64_t visit = 0;                   ///< the last graph walk that saw this slot
};

/// Makes y the output of an op on `inputs`, if gradients are enabled and any input wants one; returns y.
/// `backward` captures inputs and detached values, never y (that would be a cycle).
Tensor record(Tensor y, std::initializer_list<Tensor> inputs, Backward backward);
Tensor record(Tensor y, const std::vector<Tensor>& inputs, Backward backward);

/// Where a backward writes its share of x's gradient: added to what is there, or, if `fresh`, to
/// uninitialised memory.
struct GradTarget {
  Tensor grad;
  bool fresh;
};
GradTarget grad_target(const Tensor& x);
/// Adds dx to x's gradient; takes dx over without a copy where x has none yet. Nothing if x wants none.
void add_grad(const Tensor& x, Tensor dx);

/// Called once per backward in which it can take part: after the last use of `leaf` in that backward's graph
/// has added its share. A tensor used by a recomputed block counts one use there; a deferred weight gradient
/// holds its use until run.
void set_gradient_hook(const Tensor& leaf, GradientHook hook);

/// Adds d(seed * y)/dx to grad() of every leaf x of y's graph, in reverse topological order, freeing the
/// graph on the way. Re-entrant: recomputation calls it inside itself, where no hook is called.
/// @param y a scalar, or any shape with `dy` of that shape (see the second form).
/// @param parameters leaves whose hooks must be called even if the graph does not use them; their gradient is
/// then zero.
void backward(const Tensor& y, double seed = 1, std::span<const Tensor> parameters = {});
void backward(const Tensor& y, Tensor dy, std::span<const Tensor> parameters = {});

/// y = body(x) as one node that saves only x; its backward runs body again with gradients on, then backward
/// through that. `parameters` are the leaves that body uses. body must give the same bits each time. Source:
/// Chen et al. 2016, arXiv:1604.06174.
Tensor recompute(const std::function<Tensor(const Tensor&)>& body, const Tensor& x,
                 const std::vector<Tensor>& parameters);

/// Frees y's memory if its op knows how to compute it again: the first use in backward does. Else nothing.
void discard(const Tensor& y);

/// x itself, as a node: when backward arrives there, before it goes on to what made x, it calls arrive(). Not
/// called if x depends on nothing that wants a gradient.
Tensor on_backward(Tensor x, std::function<void()> arrive);

/// The uses of leaves that one backward still waits for.
class BackwardRun : public std::enable_shared_from_this<BackwardRun> {
 public:
  void hold(const std::shared_ptr<Slot>& leaf) { ++uses_[leaf.get()]; }
  /// Ends one use; the last one calls the leaf's hook.
  void release(const std::shared_ptr<Slot>& leaf);
  bool uses(const Slot* leaf) const { return uses_.contains(leaf); }

 private:
  std::unordered_map<const Slot*, int> uses_;
};

/// A queue of weight gradients that wait while input gradients go first (zero-bubble pipelines,
/// arXiv:2401.10241).
class DeferredWeightGradients {
 public:
  /// Weight gradients of backwards within the scope are queued here instead of run.
  class Scope : Scoped<DeferredWeightGradients*> {
   public:
    explicit Scope(DeferredWeightGradients& queue) : Scoped(context().deferred, &queue) {}
  };

  std::size_t size() const { return queue_.size(); }
  /// Runs what is queued, in the order of queueing, and calls the hooks that waited for it.
  void run();

 private:
  friend void run_weight_gradient(std::initializer_list<Tensor> weights, std::function<void()> body);
  struct Item {
    std::function<void()> body;
    std::vector<std::shared_ptr<Slot>> leaves;
    std::shared_ptr<BackwardRun> run;
  };
  std::vector<Item> queue_;
};

/// For an op's backward: runs `body`, which adds to the gradients of `weights`, now or when the scope's queue
/// is run. Weights that are themselves computed cannot wait: their own backward needs the gradient.
void run_weight_gradient(std::initializer_list<Tensor> weights, std::function<void()> body);

}  // namespace tessera
