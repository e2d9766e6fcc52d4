// Letters: B sequences, T queries, S keys, H query heads, K key-value heads, D channels of a head.
//
// Scores exist for one block of queries and one chunk of keys at a time, and tiles that no query sees are
// skipped. The softmax over chunks is kept running: a row's largest score so far, its sum of exponentials,
// its weighted values. A head's keys (and, for backward, values) are transposed once, so that every product
// reads its right operand along rows.

#include <cmath>
#include <limits>

#include "tensor/autograd.h"
#include "tensor/ops.h"
#include "tensor/rows.h"
#include "tensor/threads.h"
#include "tensor/tile_internal.h"
#include "tensor/vec_math.h"

namespace tessera {
namespace {

constexpr Index kBlock = 8 * kTileRows;  // queries that share a chunk of keys while it is in the first caches
constexpr Index kChunk = 512;  // keys of a chunk: a block's scores, 96 KiB of f32, stay in the second cache

struct Sizes {
  Index batch, queries, keys, heads, kv_heads, head_dim, diagonal;
  Index q_stride() const { return heads * head_dim; }
  Index kv_stride() const { return kv_heads * head_dim; }
  Index group() const { return heads / kv_heads; }
  /// Keys in whole tiles.
  template <class T>
  Index padded_keys() const {
    return (keys + kTileCols<T> - 1) / kTileCols<T> * kTileCols<T>;
  }
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

/// A head's rows of one sequence, inside the [B, T, heads * D] tensors, and its transposed keys and values
/// [D, S].
template <class T>
struct Head {
  const T *q, *k, *v;
  Index q_stride, kv_stride;
  const T *k_ds = nullptr, *v_ds = nullptr;
};

template <class T>
Head<T> head_of(const Sizes& s, const T* q, const T* k, const T* v, Index b, Index h) {
  const Index kv = (b * s.keys * s.kv_heads + h / s.group()) * s.head_dim;
  return {q + (b * s.queries * s.heads + h) * s.head_dim, k + kv, v + kv, s.q_stride(), s.kv_stride()};
}

/// out_ds = scale * x_sd^T, its rows padded with zeros to whole tiles. A tile of keys at a time: its rows
/// stay in the first cache.
template <class T>
void transpose_head(const Sizes& s, const T* x, T scale, T* out) {
  const Index width = s.padded_keys<T>();
  for (Index begin = 0; begin < s.keys; begin += kTileCols<T>) {
    const Index end = std::min(begin + kTileCols<T>, s.keys);
    for (Index d = 0; d < s.head_dim; ++d) {
      T* row = out + d * width;
      for (Index key = begin; key < end; ++key) row[key] = scale * x[key * s.kv_stride() + d];
      std::fill(row + end, row + std::min(begin + kTileCols<T>, width), T(0));
    }
  }
}

/// The queries [begin, end) of one tile of rows, and the chunk's keys [0, last) that any of them sees,
/// rounded up to whole tiles: what is computed of their rows of scores.
struct Tile {
  Index begin, end, last, width;
  Index rows() const { return end - begin; }
};

template <class T>
Tile tile_at(const Sizes& s, Index begin, Index block_end, Index s0) {
  const Index end = std::min(begin + kTileRows, block_end);
  const Index last = std::clamp<Index>(s.visible(end - 1) - s0, 0, kChunk);
  return {begin, end, last, (last + kTileCols<T> - 1) / kTileCols<T> * kTileCols<T>};
}

/// Rows of scores are this long: a chunk, and a tile more, which is never seen but may be read as zeros.
template <class T>
constexpr Index kScoreStride = kChunk + kTileCols<T>;

/// e = exp(score - shift) over the first `visible` scores, in place, and 0 over the rest and one tile more;
/// the sum of e.
template <class T>
T exponentials(T* scores, Index visible, Index width, T shift) {
  T sum = 0;
#pragma omp simd reduction(+ : sum)
  for (Index s = 0; s < visible; ++s) {
    const T e = fast_exp(scores[s] - shift);
    scores[s] = e;
    sum += e;
  }
  std::fill(scores + visible, scores + width + kTileCols<T>, T(0));
  return sum;
}

/// The running softmax of one query.
template <class T>
struct Running {
  T largest = -std::numeric_limits<T>::infinity(), sum = 0;

  /// Turns a chunk's scores into weights; what came before is to be multiplied by the result.
  T take(T* scores, Index visible, Index width) {
    const T before = largest;
    if (visible > 0) largest = std::max(largest, row_of(scores, visible).maxCoeff());
    const T correction = std::isinf(before) ? T(0) : fast_exp(before - largest);
    sum = sum * correction + exponentials(scores, visible, width, largest);
    return correction;
  }
};

/// Forward of one block of queries of one head.
template <class T>
void forward_block(const Sizes& s, const Head<T>& head, Index t0, Index t1, T* scores, T* out, T* lse) {
  const auto out_row = [&](Index t) { return row_of(out + t * s.q_stride(), s.head_dim); };
  for (Index t = t0; t < t1; t += kTileRows) {
    Running<T> running[kTileRows];
    const Index end = std::min(t + kTileRows, t1);
    for (Index i = t; i < end; ++i) out_row(i).setZero();
    for (Index s0 = 0; s0 < s.visible(end - 1); s0 += kChunk) {
      const Tile tile = tile_at<T>(s, t, t1, s0);
      tile_product<T>(tile.rows(), tile.width, s.head_dim, {head.q + t * head.q_stride, head.q_stride, 1},
                      head.k_ds + s0, s.padded_keys<T>(), scores, kScoreStride<T>, false);
      for (Index i = t; i < end; ++i) {
        const Index visible = std::clamp<Index>(s.visible(i) - s0, 0, tile.last);
        const T correction = running[i - t].take(scores + (i - t) * kScoreStride<T>, visible, tile.width);
        if (s0 > 0) out_row(i) *= correction;
      }
      tile_product<T>(tile.rows(), s.head_dim, tile.last, {scores, kScoreStride<T>, 1},
                      head.v + s0 * head.kv_stride, head.kv_stride, out + t * s.q_stride(), s.q_stride(),
                      s0 > 0);
    }
    for (Index i = t; i < end; ++i) {
      const auto& [largest, sum] = running[i - t];
      if (sum > 0) out_row(i) *= T(1) / sum;
      lse[i] = sum > 0 ? largest + std::log(sum) : -std::numeric_limits<T>::infinity();
    }
  }
}

/// What backward reads and writes, at one head's first row.
template <class T>
struct BackwardRows {
  const T *dout, *out, *lse;
  T *dq, *dk, *dv;
};

/// P and dS of a block's rows and a chunk of keys, and dq from them.
///   P = exp(scores - lse), dP = dout v^T, dS = P (dP - sum_D(dout out)) * scale; dq = dS k.
template <class T>
void backward_queries(const Sizes& s, const Head<T>& head, Index t0, Index t1, Index s0,
                      const BackwardRows<T>& rows, T* p, T* ds) {
  const Index stride = s.q_stride(), keys = s.padded_keys<T>();
  const T scale = T(1) / std::sqrt(static_cast<T>(s.head_dim));
  for (Index t = t0; t < t1; t += kTileRows) {
    const Tile tile = tile_at<T>(s, t, t1, s0);
    T *p_tile = p + (t - t0) * kScoreStride<T>, *ds_tile = ds + (t - t0) * kScoreStride<T>;
    tile_product<T>(tile.rows(), tile.width, s.head_dim, {head.q + t * stride, stride, 1}, head.k_ds + s0,
                    keys, p_tile, kScoreStride<T>, false);
    tile_product<T>(tile.rows(), tile.width, s.head_dim, {rows.dout + t * stride, stride, 1}, head.v_ds + s0,
                    keys, ds_tile, kScoreStride<T>, false);
    for (Index i = t; i < tile.end; ++i) {
      T *p_s = p_tile + (i - t) * kScoreStride<T>, *ds_s = ds_tile + (i - t) * kScoreStride<T>;
      const Index visible = std::clamp<Index>(s.visible(i) - s0, 0, tile.last);
      exponentials(p_s, visible, tile.width, rows.lse[i]);
      const T delta =
          (row_of(rows.dout + i * stride, s.head_dim) * row_of(rows.out + i * stride, s.head_dim)).sum();
#pragma omp simd
      for (Index key = 0; key < visible; ++key) ds_s[key] = p_s[key] * (ds_s[key] - delta) * scale;
      std::fill(ds_s + visible, ds_s + tile.width + kTileCols<T>, T(0));
    }
    tile_product<T>(tile.rows(), s.head_dim, tile.last, {ds_tile, kScoreStride<T>, 1},
                    head.k + s0 * head.kv_stride, head.kv_stride, rows.dq + t * stride, stride, s0 > 0);
  }
}

/// dv += P^T dout, dk += dS^T q: for each tile of keys, over the block's queries that see its first one.
template <class T>
void backward_keys(const Sizes& s, const Head<T>& head, Index t0, Index t1, Index s0,
                   const BackwardRows<T>& rows, const T* p, const T* ds) {
  const Index stride = s.q_stride(), last = std::clamp<Index>(s.visible(t1 - 1) - s0, 0, kChunk);
  for (Index key = 0; key < last; key += kTileRows) {
    const Index from = std::clamp<Index>(s0 + key - s.diagonal, t0, t1),
                at = (from - t0) * kScoreStride<T> + key;
    const Index count = std::min(kTileRows, last - key), kv = (s0 + key) * head.kv_stride;
    tile_product<T>(count, s.head_dim, t1 - from, {p + at, 1, kScoreStride<T>}, rows.dout + from * stride,
                    stride, rows.dv + kv, head.kv_stride, true);
    tile_product<T>(count, s.head_dim, t1 - from, {ds + at, 1, kScoreStride<T>}, head.q + from * stride,
                    stride, rows.dk + kv, head.kv_stride, true);
  }
}

/// Backward of one block of queries: writes its dq, adds to dk and dv.
template <class T>
void backward_block(const Sizes& s, const Head<T>& head, Index t0, Index t1, const BackwardRows<T>& rows,
                    T* scratch) {
  T *p = scratch, *ds = scratch + kBlock * kScoreStride<T>;
  for (Index t = t0; t < t1; ++t) row_of(rows.dq + t * s.q_stride(), s.head_dim).setZero();
  for (Index s0 = 0; s0 < s.visible(t1 - 1); s0 += kChunk) {
    backward_queries(s, head, t0, t1, s0, rows, p, ds);
    backward_keys(s, head, t0, t1, s0, rows, p, ds);
  }
}

}  // namespace

AttentionOut attention_forward(const Tensor& q, const Tensor& k, const Tensor& v, Index head_dim,
                               Index diagonal) {
  const Sizes s = sizes_of(q, k, v, head_dim, diagonal);
  const OpScope scope(info("attention", s, 2, q));
  AttentionOut result = {Tensor(q.shape(), q.dtype()), Tensor({s.batch, s.heads, s.queries}, q.dtype())};

  dispatch(q.dtype(), [&]<class T>() {
    const Index transposed = s.head_dim * s.padded_keys<T>(), scores = kTileRows * kScoreStride<T>;
    const Tensor scratch({context().threads, transposed + scores}, q.dtype(), Category::scratch);
    const T *q_data = q.data<T>(), *k_data = k.data<T>(), *v_data = v.data<T>();
    T *out = result.out.data<T>(), *lse = result.lse.data<T>(), *scratch_data = scratch.data<T>();
    const T scale = T(1) / std::sqrt(static_cast<T>(s.head_dim));
    // A thread takes a key-value head with all its query heads, which share its transposed keys.
    parallel_pieces(s.batch * s.kv_heads, 1, [&](Index bk, Index) {
      T* k_ds = scratch_data + current_thread() * (transposed + scores);
      const Index b = bk / s.kv_heads, first = bk % s.kv_heads * s.group();
      transpose_head(s, head_of(s, q_data, k_data, v_data, b, first).k, scale, k_ds);
      for (Index h = first; h < first + s.group(); ++h) {
        Head<T> head = head_of(s, q_data, k_data, v_data, b, h);
        head.k_ds = k_ds;
        forward_block(s, head, 0, s.queries, k_ds + transposed, out + (head.q - q_data),
                      lse + (b * s.heads + h) * s.queries);
      }
    });
  });
  return result;
}

AttentionGrads attention_backward(const Tensor& dout, const Tensor& q, const Tensor& k, const Tensor& v,
                                  const AttentionOut& saved, Index head_dim, Index diagonal) {
  const Sizes s = sizes_of(q, k, v, head_dim, diagonal);
  const OpScope scope(info("attention backward", s, 4, q));
  AttentionGrads grads = {Tensor(q.shape(), q.dtype()), Tensor::zeros(k.shape(), k.dtype()),
                          Tensor::zeros(v.shape(), v.dtype())};

  dispatch(q.dtype(), [&]<class T>() {
    const Index transposed = s.head_dim * s.padded_keys<T>(), scores = kBlock * kScoreStride<T>;
    const Tensor scratch({context().threads, 2 * (transposed + scores)}, q.dtype(), Category::scratch);
    const T *q_data = q.data<T>(), *k_data = k.data<T>(), *v_data = v.data<T>(), *dout_data = dout.data<T>();
    const T *out = saved.out.data<T>(), *lse = saved.lse.data<T>();
    T *dq = grads.dq.data<T>(), *dk = grads.dk.data<T>(), *dv = grads.dv.data<T>();
    T* scratch_data = scratch.data<T>();
    const T scale = T(1) / std::sqrt(static_cast<T>(s.head_dim));
    // A thread takes a key-value head with all its query heads: they add to the same dk and dv.
    parallel_pieces(s.batch * s.kv_heads, 1, [&](Index bk, Index) {
      T* k_ds = scratch_data + current_thread() * 2 * (transposed + scores);
      T* v_ds = k_ds + transposed;
      const Index b = bk / s.kv_heads, first = bk % s.kv_heads * s.group();
      const Head<T> shared = head_of(s, q_data, k_data, v_data, b, first);
      transpose_head(s, shared.k, scale, k_ds);
      transpose_head(s, shared.v, T(1), v_ds);
      for (Index h = first; h < first + s.group(); ++h) {
        Head<T> head = head_of(s, q_data, k_data, v_data, b, h);
        head.k_ds = k_ds;
        head.v_ds = v_ds;
        const Index at = head.q - q_data, kv_at = head.k - k_data;
        const BackwardRows<T> rows = {dout_data + at, out + at,   lse + (b * s.heads + h) * s.queries,
                                      dq + at,        dk + kv_at, dv + kv_at};
        for (Index t = 0; t < s.queries; t += kBlock) {
          backward_block(s, head, t, std::min(t + kBlock, s.queries), rows, v_ds + transposed);
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
