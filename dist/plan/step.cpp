#include "dist/plan/step.h"

#include <algorithm>
#include <cmath>

#include "dist/plan/memory.h"
#include "dist/plan/pipeline.h"

namespace tessera::plan {
namespace {

/// One step's sizes and prices.
class StepPricer {
 public:
  StepPricer(const Model& m, const Hardware& h, const Layout& l, double batch, double sequence)
      : m_(m), h_(h), l_(l), sequence_(sequence) {
    const double sequences = std::ceil(batch / sequence / (l.dp * l.microbatches));
    tokens_ = sequences * sequence / l.cp;
    layers_ = std::ceil(m.layers / l.pp);
  }

  StepCost cost() {
    StepCost c;
    const PassTimes compute = compute_times();
    const double tensor_f = tensor_s(), experts_f = expert_s(), context_f = context_s();
    const double again = l_.recompute == Recompute::full ? 1 : 0;
    const double m = l_.microbatches;
    c.compute_s = m * (compute.forward + compute.of(Pass::backward));
    c.tensor_s = m * tensor_f * (2 + again);
    c.expert_s = m * experts_f * (2 + again);
    c.context_s = m * context_f * (3 + again);
    PassTimes all = compute;
    all.forward += tensor_f + experts_f + context_f;
    all.backward_input += (tensor_f + experts_f) * (1 + again) + context_f * (2 + again);
    c.bubble_s = bubble_s(all);
    const double hiding = l_.zero >= 3 ? c.compute_s : compute.of(Pass::backward);
    const double data = data_s();
    c.data_s = std::max(0.0, data - hiding);
    c.hidden_data_s = data - c.data_s;
    c.optimizer_s = optimizer_s();
    return c;
  }

 private:
  double collective(const char* op, double size, double stride, double bytes) {
    if (size == 1) return 0;
    const double axes = h_.fabric == Fabric::torus && stride > 1 ? std::max(1.0, h_.axes - 1) : 1;
    return collective_cost(h_, op, {size, stride, axes}, bytes).seconds;
  }

  /// Of the fullest stage: the most layers, or the last one's and the head.
  PassTimes compute_times() const {
    const ForwardFlops f = forward_flops(m_, sequence_);
    const double layer = f.blocks() / m_.layers, last = std::floor(m_.layers / l_.pp);
    const double blocks = std::max(layers_ * layer, last * layer + f.head);
    const double per_flop = tokens_ / (l_.tp * h_.flops),
                 forward = (l_.pp == 1 ? f.total() : blocks) * per_flop;
    double again = 0;
    if (l_.recompute == Recompute::full) again = layers_ * layer * per_flop;
    if (l_.recompute == Recompute::selective) again = layers_ * f.attention / m_.layers * per_flop;
    return {forward, forward + again, forward, 0};
  }

  double activation_bytes() const { return tokens_ * m_.dim * h_.bytes_per_number; }

  double tensor_s() { return 2 * layers_ * collective("all_reduce", l_.tp, 1, activation_bytes()); }

  double expert_s() {
    const double routed = m_.top_k - m_.shared_experts;
    return 2 * layers_ * collective("all_to_all", l_.ep, l_.tp, l_.ep * routed * activation_bytes());
  }

  /// Beyond the attention that it goes beside.
  double context_s() {
    if (l_.cp == 1) return 0;
    const double bytes = tokens_ * l_.cp * 2 * m_.kv_width() / l_.tp * h_.bytes_per_number;
    const double send = layers_ * collective("all_gather", l_.cp, l_.tp, bytes);
    const double attention =
        forward_flops(m_, sequence_).attention / m_.layers * layers_ * tokens_ / (l_.tp * h_.flops);
    return std::max(0.0, send - attention);
  }

  double bubble_s(const PassTimes& all) {
    if (l_.pp == 1) return 0;
    const double busy = l_.microbatches * (all.forward + all.of(Pass::backward));
    const double idle = pipeline_seconds(l_.schedule, l_.pp, l_.microbatches, l_.virtual_stages, all) - busy;
    const double bytes = activation_bytes() / (l_.sequence_parallel ? l_.tp : 1);
    const bool inside = l_.devices() <= h_.domain;
    const double hop = inside ? h_.latency_s + bytes / h_.one_way_link()
                              : h_.scale_out_latency_s + bytes / h_.scale_out_bandwidth;
    return idle + 2 * (l_.pp * l_.virtual_stages - 1) * hop;
  }

  /// Sums over the group that holds the same weights: all of dp x cp for dense ones, a part of it for
  /// experts.
  double data_s() {
    const double data = l_.dp * l_.cp;
    const double experts = l_.ep > 1 ? m_.mlp_weights() * layers_ / (l_.tp * l_.ep) : 0;
    const double dense = count_parameters(m_).total() / (l_.tp * l_.pp) - experts * l_.ep;
    return sums_s(std::max(dense, 0.0), data, l_.tp) + sums_s(experts, data / l_.ep, l_.tp * l_.ep);
  }

  double sums_s(double parameters, double size, double stride) {
    const double bytes = parameters * h_.bytes_per_number;
    if (bytes == 0 || size == 1) return 0;
    if (l_.zero == 0) return collective("all_reduce", size, stride, bytes);
    const double gathers = l_.zero >= 3 ? 2 * l_.microbatches : 1;
    return collective("reduce_scatter", size, stride, bytes) +
           gathers * collective("all_gather", size, stride, bytes);
  }

  double optimizer_s() const {
    if (h_.memory_bandwidth == 0) return 0;
    const double parameters = count_parameters(m_).total() / (l_.tp * l_.pp * l_.ep);
    return 2 * state_bytes("mixed").total() * parameters / (l_.zero >= 1 ? l_.dp * l_.cp : 1) /
           h_.memory_bandwidth;
  }

  const Model& m_;
  const Hardware& h_;
  const Layout& l_;
  double sequence_, tokens_ = 0, layers_ = 0;
};

}  // namespace

StepCost step_cost(const Model& model, const Hardware& hardware, const Layout& layout, double batch,
                   double sequence) {
  return StepPricer(model, hardware, layout, batch, sequence).cost();
}

}  // namespace tessera::plan
