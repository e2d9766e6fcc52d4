#include "dist/plan/ledger.h"

#include <algorithm>
#include <cmath>

#include "dist/plan/request.h"
#include "dist/plan/require.h"

namespace tessera::plan {
namespace {

/// Numbers per token.
struct Kept {
  double block = 0;   ///< by a block, from its forward to its backward
  double body = 0;    ///< by a block that keeps everything
  double refill = 0;  ///< computed again before the MLP's backward
};

Kept kept(const LedgerInput& in) {
  const Model& m = in.model;
  const double statistics = 2 * (m.layer_norm ? 2 : 1);
  const double widths = 4 * m.dim + 2 * m.q_width() + 2 * m.kv_width();  // input, norms, middle; q, out; k, v
  const double body = widths + m.heads + statistics + m.mlp_matrices() * m.ffn_dim;
  if (in.recompute == "full") return {m.dim, body, 0};
  if (in.recompute == "selective") return {body - 2 * m.dim - m.ffn_dim, body, m.ffn_dim};
  return {body, body, 0};
}

double activation_numbers(const LedgerInput& in) {
  const Model& m = in.model;
  const Kept k = kept(in);
  const double final_norm = 2 * m.dim + (m.layer_norm ? 2 : 1);  // its input and output, its statistics
  const double at_head = m.layers * k.block + final_norm + m.vocab + m.dim;
  // The gradient of the block's output, which dropout's backward may not overwrite, and of the activation.
  double at_mlp = m.layers * k.block + m.dim * (m.dropout > 0 ? 2 : 1) + m.ffn_dim + k.refill;
  // A recomputed block keeps all of its body, its input of which is there already, and its output.
  if (in.recompute == "full") at_mlp += k.body - m.dim + m.dim;
  return std::max(at_head, at_mlp);
}

/// The model's parameters in bytes, and how they are shared out.
struct Parts {
  explicit Parts(const LedgerInput& in) : layers(in.model.layers) {
    const ParameterCount count = count_parameters(in.model);
    const Model& m = in.model;
    all = count.total() * in.number_bytes;
    block = count.blocks() / layers * in.number_bytes;
    ends = all - block * layers;
    head = (m.vocab * m.dim + count.final_norm) * in.number_bytes;
    late = m.tied ? m.vocab * m.dim * in.number_bytes : 0;
    level = in.shard_ranks > 1 ? in.zero : 0;
    owned = 1 / in.shard_ranks;
    const double matrix = m.dim * std::max({m.vocab, m.ffn_dim, m.q_width()}) * in.number_bytes;
    bucket = std::min(all, std::max(in.bucket_bytes, matrix));  // never less than a parameter
  }

  double layers, all, block, ends;
  double head;    ///< those of the ends that have a gradient before the blocks have
  double late;    ///< of the tied weight, whose gradient is there first and complete last
  double level;   ///< of ZeRO, if there is anyone to share with
  double owned;   ///< the share that a rank owns
  double bucket;  ///< the largest
};

double parameter_bytes(const Parts& p) {
  return p.level == 3 ? p.owned * p.all + std::min(p.layers, 2.0) * p.block + p.ends : p.all;
}

/// What is owned comes one after the other, as what is whole goes, in the only microbatch; in later ones it
/// is there from the first.
double owned_and_whole(const Parts& p, const LedgerInput& in, double whole) {
  const double owned_of = in.microbatches > 1 ? p.all : p.all - whole;
  return p.owned * std::max(owned_of, 0.0) + whole;
}

double gradient_bytes(const Parts& p, const LedgerInput& in) {
  if (p.level < 2) return p.all;
  if (p.level == 2) {
    // A block that is computed again has all of its gradients at once.
    const double filling = in.recompute == "full" ? std::max(p.bucket, p.block) : p.bucket;
    return owned_and_whole(p, in, std::min(p.bucket + filling + p.late, p.all));
  }
  const double whole_blocks = std::min(p.layers, 2.0);  // one travels, and backward is in the other
  const double at_block = owned_and_whole(p, in, whole_blocks * p.block + p.head);
  return std::max(at_block, owned_and_whole(p, in, p.block + p.ends));
}

double optimizer_bytes(const Parts& p, double states) { return states * (p.level > 0 ? p.owned : 1) * p.all; }

/// Of what is gathered or reduced, (n-1)/n goes in and comes out, by what may be in flight on a communicator:
/// that of gathers, that of gradients, and that on which groups sum what they own. At levels 1 and 2 all
/// parameters are gathered, after the update. Level 0 sends from where gradients are, mostly: what comes
/// takes memory, half of what is in flight, or all of what travels once the rank waits.
double communication_bytes(const Parts& p, const LedgerInput& in) {
  if (in.ranks <= 1) return 0;
  if (p.level == 0) return std::min(std::max(2 * p.bucket, in.in_flight_bytes / 2), p.all);
  const auto in_flight = [&](double share, double of) {
    return std::min(in.in_flight_bytes, 2 * share * of);
  };
  const double together = p.level == 3 ? p.block : p.bucket;
  const double across = in.ranks > in.shard_ranks ? in_flight(p.owned, together) : 0;
  if (p.level == 3) return 2 * in_flight(1 - p.owned, together) + across;
  const double gathers = in_flight(1 - p.owned, p.all), buckets = p.level == 1 ? 2 : 1;
  return std::max(gathers, buckets * in_flight(1 - p.owned, together) + across);
}

}  // namespace

LedgerBytes ledger_bytes(const LedgerInput& in) {
  require_known("recompute", in.recompute, {"none", "selective", "full"});
  require(in.model.detailed() && in.model.experts == 1, "check", "the model ", in.model.name,
          " is none that Tessera runs: it has ", in.model.experts, " experts and ", in.model.heads, " heads");
  const Parts parts(in);
  const double tokens = std::ceil(in.sequences / in.microbatches) * in.model.context;
  constexpr double kIds = 2 * 4;  // token and target, of the batch and, if it is split, of its parts
  const double ids = in.sequences * in.model.context * kIds * 2;
  return {.parameter = parameter_bytes(parts),
          .gradient = gradient_bytes(parts, in),
          .optimizer = optimizer_bytes(parts, in.optimizer_states),
          .activation = activation_numbers(in) * tokens * in.number_bytes + ids,
          .communication = communication_bytes(parts, in)};
}

}  // namespace tessera::plan
