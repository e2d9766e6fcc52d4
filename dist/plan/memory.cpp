#include "dist/plan/memory.h"

#include <algorithm>
#include <map>

#include "dist/plan/pipeline.h"
#include "dist/plan/require.h"

namespace tessera::plan {
namespace {

const std::vector<std::pair<std::string, StateBytes>>& conventions() {
  static const std::vector<std::pair<std::string, StateBytes>> kAll = {
      {"mixed", {2, 2, 12}},       {"book", {2, 0, 8}},
      {"megatron", {2, 4, 12}},    {"f32-accumulation", {2, 6, 12}},
      {"bf16-moments", {2, 2, 8}}, {"f32", {4, 4, 8}}};
  return kAll;
}

double korthikanti_bytes(const Model& m, const Layout& l, double sequence) {
  const double h = m.dim, t = l.tp, scores = 5 * m.heads * sequence;  // 5 a s of each token
  if (l.recompute == Recompute::full) return l.sequence_parallel ? 2 * h / t : 2 * h;
  const double whole = l.sequence_parallel ? 0 : 10 * h, divided = l.sequence_parallel ? 34 * h : 24 * h;
  return whole + (divided + (l.recompute == Recompute::selective ? 0 : scores)) / t;
}

double book_bytes(const Model& m, const Layout& l, double saved_widths) {
  const double all = m.dim + 2 * m.top_k * m.ffn_dim;
  const double numbers = saved_widths > 0                 ? saved_widths * m.dim
                         : l.recompute == Recompute::full ? m.dim
                                                          : all;
  return 2 * numbers / l.tp;
}

/// Parameters of a device's share of the blocks: those of its experts, and the rest.
struct Blocks {
  double experts, dense;
};

Blocks blocks_of(const Model& m, const Layout& l) {
  const ParameterCount count = count_parameters(m);
  const bool split = l.ep > 1;
  const double shared = split ? m.shared_experts / m.experts : 0;  // every device of an ep group has these
  const double experts = split ? count.mlp * (1 - shared) / (l.tp * l.ep * l.pp) : 0;
  const double mlp = split ? count.mlp * shared : count.mlp;
  return {experts, ((mlp + count.attention) / l.tp + count.small) / l.pp};
}

StageMemory stage(const std::string& name, const MemoryInput& in, double ends, double rank) {
  const Layout& l = in.layout;
  const Blocks blocks = blocks_of(in.model, l);
  const double data = l.dp * l.cp, dense = blocks.dense + ends;
  const auto sharded_from = [&](double level) {
    return l.zero >= level ? dense / data + blocks.experts / (data / l.ep) : dense + blocks.experts;
  };
  StageMemory s = {.stage = name, .parameters = dense + blocks.experts};
  s.weights = in.state.weights * sharded_from(3);
  s.gradients = in.state.gradients * sharded_from(2);
  s.optimizer = in.state.optimizer * sharded_from(1);
  s.in_flight = in_flight(l.schedule, l.pp, l.microbatches, l.virtual_stages, rank);
  const double tokens = in.batch / (data * l.microbatches);
  s.activations = in.activations.bytes_per_token(in.model, l, in.sequence) * tokens * in.model.layers / l.pp *
                  s.in_flight;
  return s;
}

}  // namespace

const std::vector<std::string>& state_conventions() {
  static const std::vector<std::string> kNames = [] {
    std::vector<std::string> names;
    for (const auto& [name, bytes] : conventions()) names.push_back(name);
    return names;
  }();
  return kNames;
}

StateBytes state_bytes(const std::string& convention) {
  require_known("state", convention, state_conventions());
  for (const auto& [name, bytes] : conventions())
    if (name == convention) return bytes;
  return {};
}

double ActivationRule::bytes_per_token(const Model& m, const Layout& l, double sequence) const {
  if (convention == "book") return book_bytes(m, l, saved_widths);
  return korthikanti_bytes(m, l, sequence);
}

std::vector<StageMemory> stage_memory(const MemoryInput& in) {
  const Layout& l = in.layout;
  const ParameterCount count = count_parameters(in.model);
  const double front = count.embedding / l.tp + count.positions;
  const double back = count.head / l.tp + count.final_norm;
  const double tokens = in.batch / (l.dp * l.cp * l.microbatches);
  const double logits = in.activations.convention == "book" ? 0 : 4 * tokens * in.model.vocab / l.tp;

  std::vector<StageMemory> stages;
  if (l.pp == 1) {
    stages = {stage("all", in, front + back, 0)};
  } else {
    stages.push_back(stage("first", in, front, 0));
    if (l.pp > 2) stages.push_back(stage("middle", in, 0, 1));
    // A tied head is a copy of the embedding there.
    stages.push_back(stage("last", in, in.model.tied ? back + count.embedding / l.tp : back, l.pp - 1));
  }
  stages.back().logits = logits;
  return stages;
}

StageMemory fullest(const std::vector<StageMemory>& stages) {
  return *std::ranges::max_element(stages, {}, &StageMemory::total);
}

double zero_volume(double zero) { return zero >= 3 ? 3 : 2; }

}  // namespace tessera::plan
