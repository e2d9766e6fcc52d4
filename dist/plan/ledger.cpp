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

}  // namespace

LedgerBytes ledger_bytes(const LedgerInput& in) {
  require_known("recompute", in.recompute, {"none", "selective", "full"});
  require(in.model.detailed() && in.model.experts == 1, "check", "the model ", in.model.name,
          " is none that Tessera runs: it has ", in.model.experts, " experts and ", in.model.heads, " heads");
  const ParameterCount count = count_parameters(in.model);
  const double parameters = count.total() * in.number_bytes, share = parameters / in.shard_ranks;
  const double block = count.blocks() / in.model.layers * in.number_bytes;
  const double ends = parameters - block * in.model.layers;
  const double tokens = std::ceil(in.sequences / in.microbatches) * in.model.context;
  constexpr double kIds = 2 * 4;  // token and target, of the batch and, if it is split, of its parts
  const double ids = in.sequences * in.model.context * kIds * 2;
  const double largest =
      std::max(in.bucket_bytes, in.model.vocab * in.model.dim * in.number_bytes);  // of a bucket
  const double whole_gradients =
      in.zero == 2 ? std::min(2 * largest, parameters) : block + std::max(block, ends);
  const bool sharded = in.shard_ranks > 1;
  return {.parameter = sharded && in.zero == 3 ? share + 2 * block + ends : parameters,
          .gradient = sharded && in.zero >= 2 ? share + whole_gradients : parameters,
          .optimizer = in.optimizer_states * (sharded && in.zero >= 1 ? share : parameters),
          .activation = activation_numbers(in) * tokens * in.number_bytes + ids};
}

}  // namespace tessera::plan
