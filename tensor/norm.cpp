// Letters: N rows, C columns. Statistics are kept per row; the normalised rows are not.

#include "tensor/autograd.h"
#include "tensor/ops.h"
#include "tensor/rows.h"
#include "tensor/threads.h"

namespace tessera {
namespace {

/// What backward, or a second forward, needs of the first: 1 / deviation per row, and for layer norm the
/// mean.
struct Stats {
  Tensor rstd, mean;
};

void check_norm(const char* op, const Tensor& x, const Tensor& w, const Tensor& b) {
  check(w.numel() == x.cols() && w.dtype() == x.dtype(), op, "x is ", x, " but w is ", w);
  check(!b.defined() || (b.numel() == x.cols() && b.dtype() == x.dtype()), op, "x is ", x, " but b is ", b);
}

template <class T>
void measure(const Tensor& x, double eps, const Stats& stats) {
  const Index cols = x.cols();
  const T* x_nc = x.data<T>();
  T* rstd_n = stats.rstd.data<T>();
  T* mean_n = stats.mean.defined() ? stats.mean.data<T>() : nullptr;
  parallel_rows(x.rows(), cols, 0.2, [&](Index begin, Index end) {
    for (Index n = begin; n < end; ++n) {
      const auto x_c = row_of(x_nc, cols, n);
      const T mean = mean_n != nullptr ? x_c.mean() : T(0);
      if (mean_n != nullptr) mean_n[n] = mean;
      rstd_n[n] = T(1) / std::sqrt((x_c - mean).square().mean() + T(eps));
    }
  });
}

/// y = (x - mean) * rstd * w + b; without means and b, y = x * rstd * w.
void apply(const Tensor& x, const Tensor& w, const Tensor& b, const Stats& stats, void* out) {
  dispatch(x.dtype(), [&]<class T>() {
    const Index cols = x.cols();
    const T *x_nc = x.data<T>(), *rstd_n = stats.rstd.data<T>();
    const T* mean_n = stats.mean.defined() ? stats.mean.data<T>() : nullptr;
    const auto w_c = row_of<T>(w.data<T>(), cols);
    const auto b_c = row_of<T>(b.defined() ? b.data<T>() : w.data<T>(), cols);
    T* y_nc = static_cast<T*>(out);
    parallel_rows(x.rows(), cols, 0.3, [&](Index begin, Index end) {
      for (Index n = begin; n < end; ++n) {
        const auto x_c = row_of(x_nc, cols, n);
        auto y_c = row_of(y_nc, cols, n);
        if (mean_n != nullptr)
          y_c = (x_c - mean_n[n]) * rstd_n[n] * w_c + b_c;
        else
          y_c = x_c * rstd_n[n] * w_c;
      }
    });
  });
}

/// Rows that share one partial sum of dw and db: a rule of shape alone, so that bits do not depend on
/// threads.
Index partial_rows(Index rows) { return std::max<Index>(64, (rows + 15) / 16); }

/// dx is written or added to, row by row; each block of rows leaves its share of dw, db in a row of
/// `partial`.
template <class T, bool kFresh>
void backward_rows(const Tensor& dy, const Tensor& x, const Tensor& w, const Stats& stats, T* dx_nc,
                   T* partial) {
  const Index cols = x.cols(), block = partial_rows(x.rows());
  const T *dy_nc = dy.data<T>(), *x_nc = x.data<T>(), *w_c = w.data<T>(), *rstd_n = stats.rstd.data<T>();
  const T* mean_n = stats.mean.defined() ? stats.mean.data<T>() : nullptr;

  parallel_pieces(x.rows(), block, [&](Index begin, Index end) {
    T* dw_c = partial + begin / block * 2 * cols;
    T* db_c = dw_c + cols;
    std::fill_n(dw_c, 2 * cols, T(0));
    for (Index n = begin; n < end; ++n) {
      const T *dy_c = dy_nc + n * cols, *x_c = x_nc + n * cols;
      const T mean = mean_n != nullptr ? mean_n[n] : T(0), rstd = rstd_n[n];
      T sum = 0, dot = 0;
#pragma omp simd reduction(+ : sum, dot)
      for (Index c = 0; c < cols; ++c) {
        const T normal = (x_c[c] - mean) * rstd, dnormal = dy_c[c] * w_c[c];
        sum += dnormal;
        dot += dnormal * normal;
        dw_c[c] += dy_c[c] * normal;
        db_c[c] += dy_c[c];
      }
      if (dx_nc == nullptr) continue;
      const T mean_dn = mean_n != nullptr ? sum / static_cast<T>(cols) : T(0),
              mean_dot = dot / static_cast<T>(cols);
      T* dx_c = dx_nc + n * cols;
#pragma omp simd
      for (Index c = 0; c < cols; ++c) {
        const T normal = (x_c[c] - mean) * rstd;
        const T dx = rstd * (dy_c[c] * w_c[c] - mean_dn - normal * mean_dot);
        dx_c[c] = kFresh ? dx : dx_c[c] + dx;
      }
    }
  });
}

template <class T>
void add_partials(const Tensor& parameter, const T* partial, Index blocks, Index cols) {
  if (!parameter.defined() || !parameter.wants_grad()) return;
  const auto [grad, fresh] = grad_target(parameter);
  auto grad_c = row_of(grad.data<T>(), cols);
  if (fresh) grad_c.setZero();
  for (Index i = 0; i < blocks; ++i) grad_c += row_of(partial + i * 2 * cols, cols);
}

/// n = (x - mean) * rstd, y = n w + b. Scaling or shifting x leaves n unchanged, so the parts of dn = dy w
/// along n and, for layer norm, along 1 drop out: dx = rstd (dn - mean_C(dn) - n mean_C(dn n)); dw = sum_N dy
/// n; db = sum_N dy.
void norm_backward(const char* name, const Tensor& dy, const Tensor& x, const Tensor& w, const Tensor& b,
                   const Stats& stats) {
  const OpScope scope({name, 0, 4.0 * static_cast<double>(x.bytes())});
  const Index block = partial_rows(x.rows()), blocks = (x.rows() + block - 1) / block, cols = x.cols();
  const Tensor partial({blocks, 2 * cols}, x.dtype(), Category::scratch);
  dispatch(x.dtype(), [&]<class T>() {
    T* partial_data = partial.data<T>();
    if (x.wants_grad()) {
      const auto [grad, fresh] = grad_target(x);
      dispatch_fresh(fresh, [&](auto kFresh) {
        backward_rows<T, kFresh>(dy, x, w, stats, grad.template data<T>(), partial_data);
      });
    } else {
      backward_rows<T, true>(dy, x, w, stats, static_cast<T*>(nullptr), partial_data);
    }
    add_partials(w, partial_data, blocks, cols);
    add_partials(b, partial_data + cols, blocks, cols);
  });
}

struct NormNames {
  const char *forward, *backward;
};

Tensor norm(NormNames names, const Tensor& x, const Tensor& w, const Tensor& b, const Stats& stats,
            double eps) {
  check_norm(names.forward, x, w, b);
  Tensor y(x.shape(), x.dtype());
  {
    const OpScope scope({names.forward, 0, 2.0 * static_cast<double>(x.bytes())});
    dispatch(x.dtype(), [&]<class T>() {
      measure<T>(x, eps, stats);
      apply(x, w, b, stats, y.data<T>());
    });
  }
  if (!context().grad_enabled) return y;
  y.storage()->set_recipe([names, x = x.detach(), w = w.detach(), b = b.detach(), stats](void* out) {
    const OpScope scope({names.forward, 0, 2.0 * static_cast<double>(x.bytes())});
    apply(x, w, b, stats, out);
  });
  return record(std::move(y), {x, w, b},
                [names, x, w, b, stats](Tensor dy) { norm_backward(names.backward, dy, x, w, b, stats); });
}

}  // namespace

Tensor layer_norm(const Tensor& x, const Tensor& w, const Tensor& b, double eps) {
  check(b.defined(), "layer_norm", "b is undefined");
  const Shape rows = {x.rows()};
  return norm({"layer_norm", "layer_norm backward"}, x, w, b,
              {Tensor(rows, x.dtype()), Tensor(rows, x.dtype())}, eps);
}

Tensor rms_norm(const Tensor& x, const Tensor& w, double eps) {
  return norm({"rms_norm", "rms_norm backward"}, x, w, {}, {Tensor({x.rows()}, x.dtype()), {}}, eps);
}

}  // namespace tessera
