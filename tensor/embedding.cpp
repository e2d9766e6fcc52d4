// Letters: N tokens, C channels, V vocabulary, B sequences, T positions.

#include <vector>

#include "tensor/autograd.h"
#include "tensor/ops.h"
#include "tensor/rows.h"
#include "tensor/threads.h"

namespace tessera {
namespace {

void check_ids(const char* op, const Tensor& ids, const Tensor& w) {
  check(ids.dtype() == DType::i32 && w.shape().num_dims() == 2, op, "ids are ", ids, " and w is ", w);
  for (const std::int32_t id : ids.span<std::int32_t>()) {
    check(id >= 0 && id < w.dim(0), op, "id ", id, " is outside w's ", w.dim(0), " rows");
  }
}

/// dw[ids[n]] += dy_nc, in the order of n; threads share the columns, so bits do not depend on them.
template <class T>
void add_rows(const Tensor& dy, const Tensor& ids, Index period, const Tensor& w) {
  const auto [dw, fresh] = grad_target(w);
  if (fresh) dw.fill(0);
  const Index rows = dy.rows(), cols = dy.cols();
  const auto* id_n = ids.data<std::int32_t>();
  const T* dy_nc = dy.data<T>();
  T* dw_vc = dw.data<T>();
  parallel_pieces(cols, std::max<Index>(64, cols / std::max(1, context().threads)),
                  [&](Index begin, Index end) {
                    for (Index n = 0; n < rows; ++n) {
                      row_of(dw_vc + id_n[n % period] * cols + begin, end - begin) +=
                          row_of(dy_nc + n * cols + begin, end - begin);
                    }
                  });
}

}  // namespace

Tensor embedding(const Tensor& tokens, const Tensor& w) {
  check_ids("embedding", tokens, w);
  std::vector<Index> sizes(tokens.shape().sizes().begin(), tokens.shape().sizes().end());
  sizes.push_back(w.cols());
  Tensor y(Shape(std::span<const Index>(sizes)), w.dtype());
  {
    const OpScope scope({"embedding", 0, 2.0 * static_cast<double>(y.bytes())});
    dispatch(w.dtype(), [&]<class T>() {
      const Index cols = w.cols();
      const auto* token_n = tokens.data<std::int32_t>();
      const T* w_vc = w.data<T>();
      T* y_nc = y.data<T>();
      parallel_rows(tokens.numel(), cols, 0.3, [&](Index begin, Index end) {
        for (Index n = begin; n < end; ++n) row_of(y_nc, cols, n) = row_of(w_vc, cols, token_n[n]);
      });
    });
  }
  return record(std::move(y), {w}, [tokens, w = w.slot_only()](Tensor dy) {
    const OpScope scope({"embedding backward", 0, 3.0 * static_cast<double>(dy.bytes())});
    dispatch(dy.dtype(), [&]<class T>() { add_rows<T>(dy, tokens, tokens.numel(), w); });
  });
}

Tensor add_positions(Tensor x, const Tensor& w, const Tensor& positions) {
  check_ids("add_positions", positions, w);
  check(x.shape().num_dims() == 3 && x.dim(1) == positions.numel() && x.cols() == w.cols() &&
            x.dtype() == w.dtype(),
        "add_positions", "x is ", x, ", w is ", w, " and there are ", positions.numel(), " positions");
  Tensor y = reuse(x);
  {
    const OpScope scope({"add_positions", 0, 2.0 * static_cast<double>(y.bytes())});
    dispatch(x.dtype(), [&]<class T>() {
      const Index cols = x.cols(), num_positions = positions.numel();
      const auto* position_t = positions.data<std::int32_t>();
      const T *x_nc = x.data<T>(), *w_vc = w.data<T>();
      T* y_nc = y.data<T>();
      parallel_rows(x.rows(), cols, 0.3, [&](Index begin, Index end) {
        for (Index n = begin; n < end; ++n) {
          row_of(y_nc, cols, n) = row_of(x_nc, cols, n) + row_of(w_vc, cols, position_t[n % num_positions]);
        }
      });
    });
  }
  return record(std::move(y), {x, w}, [x = x.slot_only(), w = w.slot_only(), positions](Tensor dy) {
    const OpScope scope({"add_positions backward", 0, 2.0 * static_cast<double>(dy.bytes())});
    if (w.wants_grad()) {
      dispatch(dy.dtype(), [&]<class T>() { add_rows<T>(dy, positions, positions.numel(), w); });
    }
    add_grad(x, std::move(dy));
  });
}

}  // namespace tessera
