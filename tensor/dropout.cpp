#include "tensor/autograd.h"
#include "tensor/ops.h"
#include "tensor/rows.h"
#include "tensor/threads.h"

namespace tessera {
namespace {

/// y = x where the stream's bits are at or above p 2^32, scaled; else 0.
template <class T>
void apply_mask(const DropoutMask& mask, double p, const Tensor& x, const Tensor& y) {
  const Index num_positions = mask.positions.numel(), cols = x.cols();
  const Index all_cols = mask.num_cols == 0 ? cols : mask.num_cols;
  const auto threshold = static_cast<std::uint32_t>(std::min(p * 0x1p32, 0x1p32 - 1));
  const T scale = T(1 / (1 - p));
  const auto *sequences = mask.sequences.data<std::int32_t>(),
             *positions = mask.positions.data<std::int32_t>();
  const T* x_nc = x.data<T>();
  T* y_nc = y.data<T>();

  parallel_rows(x.rows(), cols, 3, [&](Index begin, Index end) {
    for (Index n = begin; n < end; ++n) {
      const Index row = sequences[n / num_positions] * mask.num_positions + positions[n % num_positions];
      const Index first = row * all_cols + mask.first_col;
      for (Index c = 0; c < cols;) {
        const auto bits = mask.stream.block((first + c) / 4);
        for (Index i = (first + c) % 4; i < 4 && c < cols; ++i, ++c) {
          y_nc[n * cols + c] =
              bits[static_cast<std::size_t>(i)] >= threshold ? x_nc[n * cols + c] * scale : T(0);
        }
      }
    }
  });
}

Tensor masked(const DropoutMask& mask, double p, const Tensor& x) {
  const OpScope scope({"dropout", 0, 2.0 * static_cast<double>(x.bytes())});
  Tensor y = reuse(x);
  dispatch(x.dtype(), [&]<class T>() { apply_mask<T>(mask, p, x, y); });
  return y;
}

}  // namespace

Tensor dropout(Tensor x, double p, const DropoutMask& mask) {
  check(p >= 0 && p < 1, "dropout", "p is ", p, ", not in [0, 1)");
  check(x.rows() == mask.sequences.numel() * mask.positions.numel(), "dropout", "x is ", x,
        " but the mask is for ", mask.sequences.numel(), " sequences of ", mask.positions.numel());
  check(mask.first_col >= 0 && mask.first_col + x.cols() <= (mask.num_cols == 0 ? x.cols() : mask.num_cols),
        "dropout", "x's columns start at ", mask.first_col, " of ", mask.num_cols, " but x is ", x);
  if (p == 0) return x;
  const Tensor slot = x.slot_only();
  return record(masked(mask, p, x), {x}, [slot, p, mask](Tensor dy) {
    Tensor dx = masked(mask, p, dy);
    dy = Tensor();
    add_grad(slot, std::move(dx));
  });
}

}  // namespace tessera
