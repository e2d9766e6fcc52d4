#include "nn/block.h"

#include "nn/names.h"
#include "tensor/autograd.h"
#include "tensor/ops.h"

namespace tessera::nn {
namespace {

constexpr Named<Recompute> kRecomputes[] = {
    {"none", Recompute::none}, {"selective", Recompute::selective}, {"full", Recompute::full}};

}  // namespace

const char* to_string(Recompute recompute) { return name_of(kRecomputes, recompute); }
Recompute recompute_from(const std::string& name) { return value_of("recompute", kRecomputes, name); }

Attention::Attention(const std::string& name, const ModelConfig& config)
    : head_dim(config.head_dim()), rope_base(config.position == Position::rope ? config.rope_base : 0) {
  const Index q_width = config.heads * head_dim, kv_width = config.kv_heads * head_dim;
  const auto layer = [&](const char* part, Index inputs, Index outputs, double std) {
    return std::make_unique<Linear>(name + part, inputs, outputs, config.bias, std);
  };
  q = layer(".q", config.dim, q_width, config.init_std);
  k = layer(".k", config.dim, kv_width, config.init_std);
  v = layer(".v", config.dim, kv_width, config.init_std);
  out = layer(".out", q_width, config.dim, config.residual_std());
  core = [width = head_dim](const Tensor& q_btd, const Tensor& k_btd, const Tensor& v_btd, const Tensor&) {
    return attention(q_btd, k_btd, v_btd, width);
  };
}

Tensor Attention::forward(const Tensor& x, const Pass& pass) {
  const Tensor& positions = pass.batch.positions;
  const auto rotated = [&](Tensor heads) {
    return rope_base > 0 ? rope(std::move(heads), positions, head_dim, rope_base) : heads;
  };
  const Tensor q_btd = rotated(q->forward(x)), k_btd = rotated(k->forward(x)), v_btd = v->forward(x);
  return out->forward(core(q_btd, k_btd, v_btd, positions));
}

void Attention::collect(Parameters& into) const {
  for (const Layer* layer : {&q, &k, &v, &out}) (*layer)->collect(into);
}

Block::Block(Index index, const ModelConfig& config)
    : name("blocks." + std::to_string(index)),
      norm1(std::make_unique<NormLayer>(name + ".norm1", config)),
      norm2(std::make_unique<NormLayer>(name + ".norm2", config)),
      attention(name + ".attention", config),
      mlp(std::make_unique<Mlp>(name + ".mlp", config)),
      dropout(config.dropout) {}

Tensor Block::forward(const Tensor& x, const Pass& pass) {
  before();
  return after(checkpointed(x, pass));
}

Tensor Block::checkpointed(const Tensor& x, const Pass& pass) {
  if (recompute_ != Recompute::full || !context().grad_enabled) return body(x, pass);
  // The node outlives this call and its pass, so it shares the batch's tensors.
  const auto again = [this, batch = pass.batch, seed = pass.seed, step = pass.step,
                      training = pass.training](const Tensor& input) {
    return body(input, {batch, seed, step, training});
  };
  return recompute(again, x, values(parameters()));
}

Tensor Block::body(const Tensor& x, const Pass& pass) {
  const bool selective = recompute_ == Recompute::selective;
  Tensor normal = norm1->forward(x);
  Tensor branch = drop(attention.forward(normal, pass), ".attention.dropout", pass);
  if (selective) discard(normal);
  const Tensor middle = add(std::move(branch), x);

  normal = norm2->forward(middle);
  branch = drop(mlp->forward(normal), ".mlp.dropout", pass);
  if (selective) discard(normal);
  return add(std::move(branch), middle);
}

Tensor Block::drop(Tensor x, const char* where, const Pass& pass) const {
  if (!pass.training || dropout == 0) return x;
  const RandomStream stream(pass.seed, name + where, static_cast<std::uint64_t>(pass.step));
  const Batch& batch = pass.batch;
  return tessera::dropout(std::move(x), dropout,
                          {stream, batch.sequences, batch.positions, batch.num_positions});
}

void Block::collect(Parameters& into) const {
  norm1->collect(into);
  attention.collect(into);
  norm2->collect(into);
  mlp->collect(into);
}

Parameters Block::parameters() const {
  Parameters result;
  collect(result);
  return result;
}

void Block::set_recompute(Recompute recompute) {
  recompute_ = recompute;
  if (auto* plain = dynamic_cast<Mlp*>(mlp.get()))
    plain->discard_activation = recompute == Recompute::selective;
}

}  // namespace tessera::nn
