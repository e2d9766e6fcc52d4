#include "tensor/autograd.h"

#include <algorithm>
#include <utility>

#include "tensor/ops.h"

namespace tessera {
namespace {

void call_hook(Slot& leaf) {
  if (!leaf.hook) return;
  if (!leaf.grad.defined()) leaf.grad = Tensor::zeros(leaf.shape, leaf.dtype, leaf.category);
  leaf.hook();
}

/// Slots with a producer that `root` depends on, each after all that it depends on. Iterative: graphs can be
/// deep.
std::vector<std::shared_ptr<Slot>> topological_order(const std::shared_ptr<Slot>& root) {
  static thread_local std::uint64_t walks = 0;
  const std::uint64_t walk = ++walks;
  std::vector<std::shared_ptr<Slot>> order;
  std::vector<std::pair<std::shared_ptr<Slot>, std::size_t>> path;

  const auto enter = [&](const std::shared_ptr<Slot>& slot) {
    if (slot->leaf || slot->visit == walk) return;
    check(slot->producer != nullptr, "backward", "a part of the graph, of shape ", slot->shape,
          ", was freed by an earlier backward");
    slot->visit = walk;
    path.emplace_back(slot, 0);
  };
  enter(root);
  while (!path.empty()) {
    auto& [slot, next] = path.back();
    if (next < slot->producer->inputs.size()) {
      enter(slot->producer->inputs[next++]);
    } else {
      order.push_back(std::move(slot));
      path.pop_back();
    }
  }
  return order;
}

/// Runs one node and frees it. A node that no gradient has reached adds zero: nothing.
void run_node(const std::shared_ptr<Slot>& slot, BackwardRun* run) {
  const std::unique_ptr<Node> node = std::move(slot->producer);
  if (slot->grad.defined()) node->backward(std::exchange(slot->grad, Tensor()));
  if (run == nullptr) return;
  for (const auto& input : node->inputs) {
    if (input->leaf) run->release(input);
  }
}

/// The body of the outermost backward: counts uses, so that hooks fire in time, and reports the unused.
void run_counted(const std::vector<std::shared_ptr<Slot>>& order, std::span<const Tensor> parameters) {
  const auto run = std::make_shared<BackwardRun>();
  for (const auto& slot : order) {
    for (const auto& input : slot->producer->inputs) {
      if (input->leaf) run->hold(input);
    }
  }
  const Scoped<BackwardRun*> scope(context().run, run.get());
  for (auto slot = order.rbegin(); slot != order.rend(); ++slot) run_node(*slot, run.get());
  for (const Tensor& parameter : parameters) {
    if (parameter.wants_grad() && !run->uses(parameter.slot().get())) call_hook(*parameter.slot());
  }
}

}  // namespace

Slot::~Slot() {
  static thread_local std::vector<std::unique_ptr<Node>>* pending = nullptr;
  if (producer == nullptr) return;
  if (pending != nullptr) {
    pending->push_back(std::move(producer));
    return;
  }
  std::vector<std::unique_ptr<Node>> nodes;
  pending = &nodes;
  nodes.push_back(std::move(producer));
  while (!nodes.empty()) {
    const std::unique_ptr<Node> node =
        std::move(nodes.back());  // its inputs' slots, if last held here, join the list
    nodes.pop_back();
  }
  pending = nullptr;
}

Tensor record(Tensor y, const std::vector<Tensor>& inputs, Backward backward) {
  if (!context().grad_enabled) return y;
  auto node = std::make_unique<Node>();
  for (const Tensor& input : inputs) {
    if (input.wants_grad()) node->inputs.push_back(input.slot());
  }
  if (node->inputs.empty()) return y;
  node->backward = std::move(backward);
  auto slot = std::make_shared<Slot>();
  slot->shape = y.shape();
  slot->dtype = y.dtype();
  slot->producer = std::move(node);
  y.set_slot(std::move(slot));
  return y;
}

Tensor record(Tensor y, std::initializer_list<Tensor> inputs, Backward backward) {
  return record(std::move(y), std::vector<Tensor>(inputs), std::move(backward));
}

GradTarget grad_target(const Tensor& x) {
  Slot& slot = *x.slot();
  if (!slot.grad.defined()) {
    slot.grad = Tensor(slot.shape, slot.dtype, slot.category);
    return {slot.grad, true};
  }
  // Two tensors may have been handed the same gradient; the one that adds more takes a copy of its own.
  if (!slot.grad.unique()) slot.grad = slot.grad.clone();
  return {slot.grad, false};
}

void add_grad(const Tensor& x, Tensor dx) {
  if (!x.wants_grad()) return;
  Slot& slot = *x.slot();
  check(dx.shape() == slot.shape && dx.dtype() == slot.dtype, "add_grad", "x is ", slot.shape,
        " but its gradient is ", dx.shape());
  if (slot.grad.defined()) {
    add_into(grad_target(x).grad, dx);
  } else {
    const bool counted_right = dx.storage()->category() == slot.category;
    slot.grad = counted_right ? std::move(dx) : dx.clone(slot.category);
  }
}

void set_gradient_hook(const Tensor& leaf, GradientHook hook) {
  check(leaf.wants_grad() && leaf.slot()->leaf, "set_gradient_hook",
        "the tensor is no leaf that wants a gradient");
  leaf.slot()->hook = std::move(hook);
}

void backward(const Tensor& y, double seed, std::span<const Tensor> parameters) {
  check(y.numel() == 1, "backward", "y is ", y, ", not a scalar, and no gradient of it was given");
  Tensor dy(y.shape(), y.dtype());
  dy.fill(seed);
  backward(y, std::move(dy), parameters);
}

void backward(const Tensor& y, Tensor dy, std::span<const Tensor> parameters) {
  check(y.wants_grad(), "backward", "y depends on nothing that wants a gradient");
  const auto order = topological_order(y.slot());
  add_grad(y, std::move(dy));
  const NoGrad no_grad;
  if (context().run == nullptr) return run_counted(order, parameters);
  for (auto slot = order.rbegin(); slot != order.rend(); ++slot) run_node(*slot, nullptr);
}

Tensor recompute(const std::function<Tensor(const Tensor&)>& body, const Tensor& x,
                 const std::vector<Tensor>& parameters) {
  Tensor y;
  {
    const NoGrad no_grad;
    y = body(x.detach()).detach();
  }
  std::vector<Tensor> inputs = {x};
  inputs.insert(inputs.end(), parameters.begin(), parameters.end());
  return record(std::move(y), inputs, [body, x](Tensor dy) {
    Tensor inner_x = x.detach();
    if (x.wants_grad()) inner_x.require_grad(Category::activation);
    Tensor inner_y;
    {
      const Scoped<bool> grad(context().grad_enabled, true);
      inner_y = body(inner_x);
    }
    if (inner_y.wants_grad()) backward(inner_y, std::move(dy));
    if (Tensor dx = inner_x.grad(); dx.defined()) {
      inner_x = Tensor();
      add_grad(x, std::move(dx));
    }
  });
}

void discard(const Tensor& y) {
  if (y.storage()->has_recipe()) y.storage()->release();
}

Tensor on_backward(Tensor x, std::function<void()> arrive) {
  const Tensor before = x.slot_only();
  if (!before.wants_grad()) return x;
  return record(x.detach(), {before}, [before, arrive = std::move(arrive)](Tensor dy) {
    arrive();
    add_grad(before, std::move(dy));
  });
}

void BackwardRun::release(const std::shared_ptr<Slot>& leaf) {
  if (--uses_.at(leaf.get()) == 0) call_hook(*leaf);
}

void DeferredWeightGradients::run() {
  const NoGrad no_grad;
  for (Item& item : std::exchange(queue_, {})) {
    item.body();
    for (const auto& leaf : item.leaves) item.run->release(leaf);
    item = {};
  }
}

void run_weight_gradient(std::initializer_list<Tensor> weights, std::function<void()> body) {
  Context& now = context();
  const bool can_wait =
      now.deferred != nullptr && now.run != nullptr &&
      std::ranges::all_of(weights, [](const Tensor& w) { return !w.wants_grad() || w.slot()->leaf; });
  if (!can_wait) return body();
  DeferredWeightGradients::Item item{std::move(body), {}, now.run->shared_from_this()};
  for (const Tensor& w : weights) {
    if (!w.wants_grad()) continue;
    item.run->hold(w.slot());
    item.leaves.push_back(w.slot());
  }
  now.deferred->queue_.push_back(std::move(item));
}

}  // namespace tessera
