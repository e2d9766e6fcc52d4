#include "dist/parallel/fully_sharded.h"

#include <algorithm>

#include "dist/parallel/buckets.h"
#include "dist/parallel/rank_major.h"
#include "tensor/autograd.h"

namespace tessera::dist {
namespace {

/// Parameters that come and go together.
class Unit {
 public:
  Unit(nn::Parameters parameters, Comm shard, const CollectiveOptions& options)
      : parameters_(std::move(parameters)), shard_(std::move(shard)), options_(options) {}

  /// Starts gathering, unless it is under way or done. Collective.
  void prefetch() {
    if (here_) return;
    here_ = true;
    std::vector<Tensor> values;
    for (const nn::ParameterPtr& p : parameters_) {
      p->value.storage()->refill();
      p->owned_rows(p->value).copy_from(p->owned_value);
      values.push_back(p->value.detach());
    }
    const RankMajor rows = rank_major(values, shard_.size());
    work_ = all_gather_async(shard_, rows.buffer, rows.parts, options_);
  }

  /// Returns when all of it is here. Collective.
  void need() {
    prefetch();
    work_.wait();
  }

  void release() {
    if (!here_) return;
    work_.wait();  // a prefetch that nobody needed after all
    for (const nn::ParameterPtr& p : parameters_) p->value.storage()->release();
    here_ = false;
  }

  Index num_elements() const { return nn::count_elements(parameters_); }

 private:
  nn::Parameters parameters_;
  Comm shard_;
  CollectiveOptions options_;
  bool here_ = false;
  Work work_{};
};

/// The embedding, with what must be here before it.
class ShardedEmbedding : public nn::Module {
 public:
  ShardedEmbedding(nn::Layer inner, std::function<void()> before)
      : inner_(std::move(inner)), before_(std::move(before)) {}

  Tensor forward(const Tensor& tokens) override {
    before_();
    return inner_->forward(tokens);
  }
  void collect(nn::Parameters& into) const override { inner_->collect(into); }
  std::string type() const override { return inner_->type(); }

 private:
  nn::Layer inner_;
  std::function<void()> before_;
};

}  // namespace

struct FullySharded::State {
  std::vector<Unit> blocks;
  Unit ends;
  bool overlap;

  bool last(std::size_t i) const { return i + 1 == blocks.size(); }
  void prefetch(std::size_t i) {
    if (overlap && i < blocks.size()) blocks[i].prefetch();
  }

  void begin_forward() {
    ends.need();
    prefetch(0);
  }
  void before_forward(std::size_t i) {
    blocks[i].need();
    prefetch(i + 1);
  }
  /// In training the last block stays, and the one that follows it in backward comes.
  void after_forward(std::size_t i) {
    if (!context().grad_enabled || !last(i)) return blocks[i].release();
    if (i > 0) prefetch(i - 1);
  }
  /// Backward has arrived at block i's output, so it is done with block i + 1.
  void before_backward(std::size_t i) {
    if (!last(i)) blocks[i + 1].release();
    blocks[i].need();
    if (i > 0) prefetch(i - 1);
  }
  void end_of_evaluation() {
    if (!context().grad_enabled) ends.release();
  }
};

FullySharded::FullySharded(nn::Transformer& model, const Axis& shard, const CollectiveOptions& options,
                           bool overlap) {
  const Comm comm = shard.comm("parameters");
  Buckets units = block_buckets(model);
  state_ = std::make_shared<State>(State{{}, Unit(std::move(units.back()), comm, options), overlap});
  units.pop_back();
  std::ranges::reverse(units);
  for (nn::Parameters& block : units) state_->blocks.emplace_back(std::move(block), comm, options);

  const auto state = state_;
  for (std::size_t i = 0; i < model.blocks.size(); ++i) {
    model.blocks[i]->before = [state, i] { state->before_forward(i); };
    model.blocks[i]->after = [state, i](Tensor y) {
      state->after_forward(i);
      return on_backward(std::move(y), [state, i] { state->before_backward(i); });
    };
  }
  model.embedding =
      std::make_unique<ShardedEmbedding>(std::move(model.embedding), [state] { state->begin_forward(); });
  model.head.loss = [state, inner = model.head.loss](const Tensor& hidden, const Tensor& weight,
                                                     const Tensor& targets) {
    const nn::LossSum loss = inner(hidden, weight, targets);
    state->end_of_evaluation();
    return loss;
  };
  model.head.logits = [state, inner = model.head.logits](const Tensor& hidden, const Tensor& weight) {
    const Tensor logits = inner(hidden, weight);
    state->end_of_evaluation();
    return logits;
  };
}

void FullySharded::release_all() const {
  for (Unit& block : state_->blocks) block.release();
  state_->ends.release();
}

Index FullySharded::num_kept() const {
  return state_->ends.num_elements() + state_->blocks.back().num_elements();
}

}  // namespace tessera::dist
