// Letters: N rows, C input columns, O outputs.

#include "tensor/autograd.h"
#include "tensor/blas.h"
#include "tensor/ops.h"
#include "tensor/rows.h"
#include "tensor/threads.h"

namespace tessera {
namespace {

OpInfo gemm_info(const char* name, const Tensor& x, const Tensor& w) {
  const auto rows = static_cast<double>(x.rows()), outputs = static_cast<double>(w.dim(0));
  return {
      name, 2 * rows * static_cast<double>(w.numel()),
      static_cast<double>(x.bytes() + w.bytes()) + rows * outputs * static_cast<double>(bytes_of(x.dtype()))};
}

template <class T>
Matrix<const T> matrix(const Tensor& x) {
  return {x.data<T>(), x.cols()};
}

/// Every row of y becomes b: the product is then added to it, in the pass that would otherwise have cleared
/// y.
template <class T>
void fill_rows(const Tensor& y, const Tensor& b) {
  const Index cols = y.cols();
  const auto b_o = row_of(b.data<T>(), cols);
  T* y_no = y.data<T>();
  parallel_rows(y.rows(), cols, 0.1, [&](Index begin, Index end) {
    for (Index n = begin; n < end; ++n) row_of(y_no, cols, n) = b_o;
  });
}

/// db_o += sum_N dy_no. Four rows at a time, so that the sum is read and written a quarter as often.
template <class T>
void add_column_sums(const Tensor& dy, const Tensor& db, bool fresh) {
  const Index rows = dy.rows(), cols = dy.cols();
  const T* dy_no = dy.data<T>();
  T* db_o = db.data<T>();
  if (fresh) std::fill_n(db_o, cols, T(0));
  const Index piece = std::max<Index>(64, cols / std::max(1, context().threads));
  parallel_pieces(cols, piece, [&](Index begin, Index end) {
    auto sum_o = row_of(db_o + begin, end - begin);
    const auto row = [&](Index n) { return row_of(dy_no + n * cols + begin, end - begin); };
    Index n = 0;
    for (; n + 4 <= rows; n += 4) sum_o += (row(n) + row(n + 1)) + (row(n + 2) + row(n + 3));
    for (; n < rows; ++n) sum_o += row(n);
  });
}

/// dw_oc += dy_no^T x_nc, db_o += sum_N dy_no.
void add_weight_gradient(const Tensor& dy, const Tensor& x, const Tensor& w, const Tensor& b) {
  const OpScope scope(gemm_info("linear weight gradient", x, w));
  dispatch(x.dtype(), [&]<class T>() {
    if (w.wants_grad()) {
      const auto [dw, fresh] = grad_target(w);
      parallel_gemm<T>(dy.cols(), x.cols(), x.rows(), T(1), transpose(matrix<T>(dy)), matrix<T>(x),
                       T(fresh ? 0 : 1), {dw.data<T>(), dw.cols()});
    }
    if (b.defined() && b.wants_grad()) {
      const auto [db, fresh] = grad_target(b);
      add_column_sums<T>(dy, db, fresh);
    }
  });
}

/// dx_nc += dy_no w_oc.
void add_input_gradient(const Tensor& dy, const Tensor& x, const Tensor& w) {
  const OpScope scope(gemm_info("linear input gradient", x, w));
  const auto [dx, fresh] = grad_target(x);
  dispatch(x.dtype(), [&]<class T>() {
    parallel_gemm<T>(dx.rows(), dx.cols(), dy.cols(), T(1), matrix<T>(dy), matrix<T>(w), T(fresh ? 0 : 1),
                     {dx.data<T>(), dx.cols()});
  });
}

}  // namespace

Tensor linear(const Tensor& x, const Tensor& w, const Tensor& b) {
  check(w.shape().num_dims() == 2 && w.dim(1) == x.cols() && w.dtype() == x.dtype(), "linear", "x is ", x,
        " but w is ", w);
  check(!b.defined() || (b.numel() == w.dim(0) && b.dtype() == w.dtype()), "linear", "w is ", w, " but b is ",
        b);
  Tensor y(x.shape().with_cols(w.dim(0)), x.dtype());
  {
    const OpScope scope(gemm_info("linear", x, w));
    dispatch(x.dtype(), [&]<class T>() {
      if (b.defined()) fill_rows<T>(y, b);
      parallel_gemm<T>(y.rows(), y.cols(), x.cols(), T(1), matrix<T>(x), transpose(matrix<T>(w)),
                       T(b.defined() ? 1 : 0), {y.data<T>(), y.cols()});
    });
  }
  return record(std::move(y), {x, w, b}, [x, w, b](Tensor dy) {
    if (x.wants_grad()) add_input_gradient(dy, x, w);
    run_weight_gradient({w, b}, [dy, x, w, b] { add_weight_gradient(dy, x, w, b); });
  });
}

}  // namespace tessera
