// Letters: N rows, V vocabulary.

#include <cmath>

#include "tensor/autograd.h"
#include "tensor/ops.h"
#include "tensor/rows.h"
#include "tensor/threads.h"
#include "tensor/vec_math.h"

namespace tessera {
namespace {

void check_targets(const Tensor& logits, const Tensor& targets) {
  check(targets.dtype() == DType::i32 && targets.numel() == logits.rows(), "cross_entropy", "logits are ",
        logits, " but targets are ", targets);
  for (const std::int32_t target : targets.span<std::int32_t>()) {
    check(target < logits.cols(), "cross_entropy", "target ", target, " is outside the vocabulary of ",
          logits.cols());
  }
}

/// -log softmax(logits)[target] of one row; leaves softmax - onehot, the gradient, in p if that is not null
/// (p may be logits).
template <class T>
double row_loss(const T* logits, Index cols, std::int32_t target, T* p, T* scratch) {
  const T largest = row_of(logits, cols).maxCoeff();
  const T target_logit = logits[target];
  T* e = p != nullptr ? p : scratch;
  T sum = 0;
#pragma omp simd reduction(+ : sum)
  for (Index c = 0; c < cols; ++c) {
    const T value = fast_exp(logits[c] - largest);
    e[c] = value;
    sum += value;
  }
  if (p != nullptr) {
    row_of(p, cols) *= T(1) / sum;
    p[target] -= T(1);
  }
  return std::log(static_cast<double>(sum)) + static_cast<double>(largest) -
         static_cast<double>(target_logit);
}

/// The sum of the rows' losses, summed in double in the order of the rows.
template <class T>
double total_loss(const Tensor& logits, const Tensor& targets, const Tensor& p) {
  const Index rows = logits.rows(), cols = logits.cols();
  const Tensor losses({rows}, DType::f64, Category::scratch);
  const Tensor scratch({p.defined() ? 0 : context().threads, cols}, logits.dtype(), Category::scratch);
  const auto* target_n = targets.data<std::int32_t>();
  const T* logits_nv = logits.data<T>();
  T *p_nv = p.defined() ? p.data<T>() : nullptr, *scratch_v = scratch.data<T>();
  auto* loss_n = losses.data<double>();

  parallel_rows(rows, cols, 1, [&](Index begin, Index end) {
    for (Index n = begin; n < end; ++n) {
      T* p_v = p_nv != nullptr ? p_nv + n * cols : nullptr;
      loss_n[n] = 0;
      if (target_n[n] >= 0) {
        loss_n[n] =
            row_loss(logits_nv + n * cols, cols, target_n[n], p_v, scratch_v + current_thread() * cols);
      } else if (p_v != nullptr) {
        std::fill_n(p_v, cols, T(0));
      }
    }
  });
  double sum = 0;
  for (const double loss : losses.span<double>()) sum += loss;
  return sum;
}

}  // namespace

Tensor cross_entropy(Tensor logits, const Tensor& targets) {
  check_targets(logits, targets);
  const bool record_it = context().grad_enabled && logits.wants_grad();
  Tensor p = record_it ? reuse(logits) : Tensor();
  Tensor loss({}, DType::f64);
  {
    const OpScope scope({"cross_entropy", 0, 2.0 * static_cast<double>(logits.bytes())});
    dispatch(logits.dtype(), [&]<class T>() { *loss.data<double>() = total_loss<T>(logits, targets, p); });
  }
  return record(
      std::move(loss), {logits}, [logits = logits.slot_only(), p = std::move(p)](Tensor dy) mutable {
        // d(-log softmax_t)/dlogit = softmax - onehot_t, which p holds already.
        const OpScope scope({"cross_entropy backward", 0, 2.0 * static_cast<double>(p.bytes())});
        dispatch(p.dtype(), [&]<class T>() { row_of(p.data<T>(), p.numel()) *= static_cast<T>(dy.item()); });
        add_grad(logits, std::move(p));
      });
}

}  // namespace tessera
