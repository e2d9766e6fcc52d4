#pragma once

#include <cstdint>

#include "tensor/random.h"
#include "tensor/tensor.h"

namespace tessera {

// Differentiable ops on f32 and f64. A tensor is seen as rows x cols (Tensor::rows); a batch of 0 rows is an
// ordinary size. Ops that take a tensor by value write their result into its memory if they were given its
// only handle. Letters: N rows, C cols of x, O outputs, B sequences, T positions of each, H heads, D channels
// of a head, V vocabulary.

/// y_no = x_nc w_oc^T (+ b_o). b may be undefined.
Tensor linear(const Tensor& x, const Tensor& w, const Tensor& b = {});

/// x + y, same shape.
Tensor add(Tensor x, const Tensor& y);
/// a += b, outside any graph.
void add_into(const Tensor& a, const Tensor& b);

/// 0.5 x (1 + erf(x / sqrt 2)). Hendrycks & Gimpel 2016, arXiv:1606.08415, the exact form.
Tensor gelu(const Tensor& x);
/// silu(gate) * up, silu(x) = x / (1 + exp(-x)). Shazeer 2020, arXiv:2002.05202.
Tensor swiglu(const Tensor& gate, const Tensor& up);

/// (x - mean_C) / sqrt(var_C + eps) * w + b. Ba et al. 2016, arXiv:1607.06450.
Tensor layer_norm(const Tensor& x, const Tensor& w, const Tensor& b, double eps);
/// x / sqrt(mean_C(x^2) + eps) * w. Zhang & Sennrich 2019, arXiv:1910.07467.
Tensor rms_norm(const Tensor& x, const Tensor& w, double eps);

/// Row tokens[i] of w_vc for each i. @param tokens i32 of any shape; the result has its shape and C more.
/// @throws std::invalid_argument for a token outside [0, V).
Tensor embedding(const Tensor& tokens, const Tensor& w);
/// x_btc + w[positions[t]]. @param positions i32 [T], the same for all sequences.
Tensor add_positions(Tensor x, const Tensor& w, const Tensor& positions);

/// Rotates channel pairs (i, i + D/2) of each head by positions[t] * base^(-2i/D).  Su et al. 2021,
/// arXiv:2104.09864.
/// @param x [B, T, H * D]; D even.
Tensor rope(Tensor x, const Tensor& positions, Index head_dim, double base);

/// Which random numbers a dropout draws: element (b, t, c) of x draws number ((sequences[b] *
/// positions_in_all + positions[t]) * cols_in_all + first_col + c) of the stream, so each shard draws its
/// slice of the one global mask.
struct DropoutMask {
  RandomStream stream;
  Tensor sequences;     ///< i32 [B], global numbers of the sequences held here
  Tensor positions;     ///< i32 [T], global positions held here
  Index num_positions;  ///< T of the whole sequence
  Index first_col = 0;  ///< where this slice of the columns starts
  Index num_cols = 0;   ///< columns of the whole; 0: x has them all
};
/// x / (1-p) where kept, 0 with probability p. Stores no mask: backward draws it again. @param x [B, T, C].
Tensor dropout(Tensor x, double p, const DropoutMask& mask);

/// Causal self-attention: softmax(q k^T / sqrt(D), over keys at or before the query) v. Query head h uses
/// key-value head h / (heads / kv_heads). Blocked: never a T x T matrix. Dao et al. 2022, arXiv:2205.14135.
/// @param q [B, T, heads * D]   @param k, v [B, T, kv_heads * D]   @return [B, T, heads * D]
Tensor attention(const Tensor& q, const Tensor& k, const Tensor& v, Index head_dim);

/// The two halves of attention, outside any graph, for callers that merge parts (ring attention).
struct AttentionOut {
  Tensor out;  ///< [B, T, heads * D]; 0 where a query sees no key
  Tensor lse;  ///< [B, heads, T], log-sum-exp of each query's scaled scores; -infinity where it sees no key
};
/// @param diagonal query t sees keys s <= t + diagonal; 0 is causal, the number of keys or more sees all. The
/// numbers of
///        queries and keys may differ.
AttentionOut attention_forward(const Tensor& q, const Tensor& k, const Tensor& v, Index head_dim,
                               Index diagonal);
struct AttentionGrads {
  Tensor dq, dk, dv;
};
/// Gradients of what these keys gave to `out`, whose lse and out may be of more keys than are passed here.
AttentionGrads attention_backward(const Tensor& dout, const Tensor& q, const Tensor& k, const Tensor& v,
                                  const AttentionOut& saved, Index head_dim, Index diagonal);

/// Sum over rows of -log softmax(logits_nv)[targets_n]; rows whose target is negative add nothing. The sum is
/// an f64 scalar for either dtype. Its gradient takes the logits' memory: probabilities are not stored beside
/// them.
/// @throws std::invalid_argument for a target at or above V.
Tensor cross_entropy(Tensor logits, const Tensor& targets);

}  // namespace tessera
