// Letters: B sequences, T queries, S keys, H query heads, K key-value heads, D channels of a head.
//
// Scores exist for one block of queries and one chunk of keys at a time; chunks that no query of the block
// sees are skipped. The softmax over chunks is kept running: a row's largest score so far, its sum of
// exponentials, its weighted values.

#include <cmath>
#include <limits>

#include "tensor/autograd.h"
#include "tensor/blas.h"
#include "tensor/ops.h"
#include "tensor/rows.h"
#include "tensor/threads.h"
#include "tensor/vec_math.h"

namespace tessera {
namespace {

// Queries of a block: fewer skip more above the diagonal, more make better GEMMs; 48 to 128 differ by 3 %.
constexpr Index kBlock = 96;
constexpr Index kChunk = 512;  // keys of a chunk: a block's scores, 192 KiB of f32, stay in the second cache

struct Sizes {
  Index batch, queries, keys, heads, kv_heads, head_dim, diagonal;
  Index q_stride() const { return heads * head_dim; }
  Index kv_stride() const { return kv_heads * head_dim; }
  Index group() const { return heads / kv_heads; }
  /// Keys that query t sees.
  Index visible(Index t) const { return std::clamp<Index>(t + diagonal + 1, 0, keys); }
  /// Score elements computed for one head, without what the blocks add above the diagonal.
  double scores() const {
    double sum = 0;
    for (Index t = 0; t < queries; ++t) sum += static_cast<double>(visible(t));
    return sum;
  }
};

Sizes sizes_of(const Tensor& q, const Tensor& k, const Tensor& v, Index head_dim, Index diagonal) {
  check(q.shape().num_dims() == 3 && k.shape().num_dims() == 3, "attention", "q is ", q, " and k is ", k);
  const bool same_dtype = q.dtype() == k.dtype() && q.dtype() == v.dtype();
  check(k.shape() == v.shape() && q.dim(0) == k.dim(0) && same_dtype, "attention", "q is ", q, ", k ", k,
        ", v ", v);
  check(head_dim > 0 && q.cols() % head_dim == 0 && k.cols() % head_dim == 0, "attention", "q is ", q, ", k ",
        k, " but a head has ", head_dim, " channels");
  const Sizes s = {q.dim(0), q.dim(1), k.dim(1), q.cols() / head_dim, k.cols() / head_dim,
                   head_dim, diagonal};
  check(s.kv_heads > 0 && s.heads % s.kv_heads == 0, "attention", s.heads, " query heads over ", s.kv_heads,
        " key-value heads");
  return s;
}

OpInfo info(const char* name, const Sizes& s, double gemms, const Tensor& q) {
  const double heads = static_cast<double>(s.batch * s.heads);
  return {name, 2 * gemms * heads * s.scores() * static_cast<double>(s.head_dim),
          4 * static_cast<double>(q.bytes())};
}

/// A head's rows of one sequence, inside the [B, T, heads * D] tensors.
template <class T>
struct Head {
  const T *q, *k, *v;
  Index q_stride, kv_stride;
};

template <class T>
Head<T> head_of(const Sizes& s, const T* q, const T* k, const T* v, Index b, Index h) {
  const Index kv = (b * s.keys * s.kv_heads + h / s.group()) * s.head_dim;
  return {q + (b * s.queries * s.heads + h) * s.head_dim, k + kv, v + kv, s.q_stride(), s.kv_stride()};
}

/// Scores of queries [t0, t1) and keys [s0, s1), scaled, [t1 - t0, s1 - s0].
template <class T>
void score(const Head<T>& head, Index t0, Index t1, Index s0, Index s1, Index head_dim, T* scores) {
  const T scale = T(1) / std::sqrt(static_cast<T>(head_dim));
  gemm<T>(t1 - t0, s1 - s0, head_dim, scale, {head.q + t0 * head.q_stride, head.q_stride},
          {head.k + s0 * head.kv_stride, head.kv_stride, true}, T(0), {scores, s1 - s0});
}

/// e = exp(score - shift) over the first `visible` of `count` scores, in place, and 0 over the rest; the sum
/// of e.
template <class T>
T exponentials(T* scores, Index visible, Index count, T shift) {
  T sum = 0;
#pragma omp simd reduction(+ : sum)
  for (Index s = 0; s < visible; ++s) {
    const T e = fast_exp(scores[s] - shift);
    scores[s] = e;
    sum += e;
  }
  std::fill(scores + visible, scores + count, T(0));
  return sum;
}

/// Forward of one block of queries of one head.
template <class T>
void forward_block(const Sizes& s, const Head<T>& head, Index t0, Index t1, T* scores, T* out, T* lse) {
  constexpr T kNone = -std::numeric_limits<T>::infinity();
  T largest[kBlock], sum[kBlock];
  std::fill_n(largest, t1 - t0, kNone);
  std::fill_n(sum, t1 - t0, T(0));
  const auto out_row = [&](Index t) { return row_of(out + t * s.q_stride(), s.head_dim); };
  const Index last_key = s.visible(t1 - 1);
  if (last_key == 0) {
    for (Index t = t0; t < t1; ++t) out_row(t).setZero();
  }

  for (Index s0 = 0; s0 < last_key; s0 += kChunk) {
    const Index s1 = std::min(s0 + kChunk, last_key), count = s1 - s0;
    score(head, t0, t1, s0, s1, s.head_dim, scores);
    for (Index t = t0; t < t1; ++t) {
      T* row = scores + (t - t0) * count;
      const Index visible = std::clamp<Index>(s.visible(t) - s0, 0, count);
      T& top = largest[t - t0];
      const T before = top;
      if (visible > 0) top = std::max(top, row_of(row, visible).maxCoeff());
      const T correction = before == kNone ? T(0) : fast_exp(before - top);
      sum[t - t0] = sum[t - t0] * correction + exponentials(row, visible, count, top);
      if (s0 > 0) out_row(t) *= correction;
    }
    gemm<T>(t1 - t0, s.head_dim, count, T(1), {scores, count}, {head.v + s0 * head.kv_stride, head.kv_stride},
            T(s0 == 0 ? 0 : 1), {out + t0 * s.q_stride(), s.q_stride()});
  }
  for (Index t = t0; t < t1; ++t) {
    const T total = sum[t - t0];
    if (total > 0) out_row(t) *= T(1) / total;
    lse[t] = total > 0 ? largest[t - t0] + std::log(total) : kNone;
  }
}

/// Backward of one block of queries: writes its dq, adds to dk and dv (writes them if `fresh`).
///   P = exp(scores - lse), dP = dout v^T, dS = P (dP - sum_D(dout out)) * scale; dv = P^T dout, dq = dS k,
///   dk = dS^T q.
template <class T>
void backward_block(const Sizes& s, const Head<T>& head, Index t0, Index t1, bool fresh, const T* dout,
                    const T* out, const T* lse, T* scratch, T* dq, T* dk, T* dv) {
  const Index rows = t1 - t0, stride = s.q_stride(), last_key = s.visible(t1 - 1);
  const T scale = T(1) / std::sqrt(static_cast<T>(s.head_dim)), add = fresh ? T(0) : T(1);
  T delta[kBlock];
  for (Index t = t0; t < t1; ++t) {
    if (last_key == 0) row_of(dq + t * stride, s.head_dim).setZero();
    delta[t - t0] = (row_of(dout + t * stride, s.head_dim) * row_of(out + t * stride, s.head_dim)).sum();
  }
  T *p = scratch, *ds = scratch + kBlock * kChunk;
  const Matrix<const T> dout_td = {dout + t0 * stride, stride}, q_td = {head.q + t0 * stride, stride};

  for (Index s0 = 0; s0 < last_key; s0 += kChunk) {
    const Index s1 = std::min(s0 + kChunk, last_key), count = s1 - s0, at = s0 * head.kv_stride;
    const Matrix<const T> k_sd = {head.k + at, head.kv_stride}, v_sd = {head.v + at, head.kv_stride};
    score(head, t0, t1, s0, s1, s.head_dim, p);
    gemm<T>(rows, count, s.head_dim, T(1), dout_td, transpose(v_sd), T(0), {ds, count});
    for (Index t = t0; t < t1; ++t) {
      T *p_s = p + (t - t0) * count, *ds_s = ds + (t - t0) * count;
      const Index visible = std::clamp<Index>(s.visible(t) - s0, 0, count);
      exponentials(p_s, visible, count, lse[t]);
      const T delta_t = delta[t - t0];
#pragma omp simd
      for (Index i = 0; i < visible; ++i) ds_s[i] = p_s[i] * (ds_s[i] - delta_t) * scale;
      std::fill(ds_s + visible, ds_s + count, T(0));
    }
    const Matrix<const T> p_ts = {p, count}, ds_ts = {ds, count};
    gemm<T>(count, s.head_dim, rows, T(1), transpose(p_ts), dout_td, add, {dv + at, head.kv_stride});
    gemm<T>(rows, s.head_dim, count, T(1), ds_ts, k_sd, T(s0 == 0 ? 0 : 1), {dq + t0 * stride, stride});
    gemm<T>(count, s.head_dim, rows, T(1), transpose(ds_ts), q_td, add, {dk + at, head.kv_stride});
  }
}

}  // namespace

AttentionOut attention_forward(const Tensor& q, const Tensor& k, const Tensor& v, Index head_dim,
                               Index diagonal) {
  const Sizes s = sizes_of(q, k, v, head_dim, diagonal);
  const OpScope scope(info("attention", s, 2, q));
  AttentionOut result = {Tensor(q.shape(), q.dtype()), Tensor({s.batch, s.heads, s.queries}, q.dtype())};
  const Tensor scratch({context().threads, kBlock, kChunk}, q.dtype(), Category::scratch);

  dispatch(q.dtype(), [&]<class T>() {
    const T *q_data = q.data<T>(), *k_data = k.data<T>(), *v_data = v.data<T>();
    T *out = result.out.data<T>(), *lse = result.lse.data<T>(), *scores = scratch.data<T>();
    parallel_pieces(s.batch * s.heads, 1, [&](Index bh, Index) {
      const Index b = bh / s.heads, h = bh % s.heads;
      const Head<T> head = head_of(s, q_data, k_data, v_data, b, h);
      for (Index t = 0; t < s.queries; t += kBlock) {
        forward_block(s, head, t, std::min(t + kBlock, s.queries),
                      scores + current_thread() * kBlock * kChunk, out + (head.q - q_data),
                      lse + bh * s.queries);
      }
    });
  });
  return result;
}

AttentionGrads attention_backward(const Tensor& dout, const Tensor& q, const Tensor& k, const Tensor& v,
                                  const AttentionOut& saved, Index head_dim, Index diagonal) {
  const Sizes s = sizes_of(q, k, v, head_dim, diagonal);
  const OpScope scope(info("attention backward", s, 4, q));
  // The last block of queries comes first: where it sees all keys it writes all of dk and dv, and the others
  // add.
  const bool covers = s.queries > 0 && s.visible(s.queries - 1) == s.keys;
  const auto like = [&](const Tensor& x) {
    return covers ? Tensor(x.shape(), x.dtype()) : Tensor::zeros(x.shape(), x.dtype());
  };
  AttentionGrads grads = {Tensor(q.shape(), q.dtype()), like(k), like(v)};
  const Tensor scratch({context().threads, 2, kBlock, kChunk}, q.dtype(), Category::scratch);

  dispatch(q.dtype(), [&]<class T>() {
    const T *q_data = q.data<T>(), *k_data = k.data<T>(), *v_data = v.data<T>(), *dout_data = dout.data<T>();
    const T *out = saved.out.data<T>(), *lse = saved.lse.data<T>();
    T *dq = grads.dq.data<T>(), *dk = grads.dk.data<T>(), *dv = grads.dv.data<T>(),
      *scratch_data = scratch.data<T>();
    // A thread takes a key-value head with all its query heads: they add to the same dk and dv.
    parallel_pieces(s.batch * s.kv_heads, 1, [&](Index bk, Index) {
      const Index b = bk / s.kv_heads, first = bk % s.kv_heads * s.group();
      for (Index h = first; h < first + s.group(); ++h) {
        const Head<T> head = head_of(s, q_data, k_data, v_data, b, h);
        const Index at = head.q - q_data, kv_at = head.k - k_data;
        for (Index t = (s.queries - 1) / kBlock * kBlock; t >= 0; t -= kBlock) {
          const bool fresh = covers && h == first && t + kBlock >= s.queries;
          backward_block(s, head, t, std::min(t + kBlock, s.queries), fresh, dout_data + at, out + at,
                         lse + (b * s.heads + h) * s.queries,
                         scratch_data + current_thread() * 2 * kBlock * kChunk, dq + at, dk + kv_at,
                         dv + kv_at);
        }
      }
    });
  });
  return grads;
}

Tensor attention(const Tensor& q, const Tensor& k, const Tensor& v, Index head_dim) {
  check(q.shape().num_dims() == 3 && k.shape().num_dims() == 3 && q.dim(1) == k.dim(1), "attention", "q is ",
        q, " but k is ", k);
  const AttentionOut result = attention_forward(q, k, v, head_dim, 0);
  return record(result.out, {q, k, v},
                [q, k, v, saved = AttentionOut{result.out, result.lse}, head_dim](Tensor dy) {
                  AttentionGrads grads = attention_backward(dy, q, k, v, saved, head_dim, 0);
                  add_grad(q, std::move(grads.dq));
                  add_grad(k, std::move(grads.dk));
                  add_grad(v, std::move(grads.dv));
                });
}

}  // namespace tessera
