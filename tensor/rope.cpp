// Letters: B sequences, T positions, H heads, D channels of a head.

#include <cmath>
#include <vector>

#include "tensor/autograd.h"
#include "tensor/ops.h"
#include "tensor/rows.h"
#include "tensor/threads.h"

namespace tessera {
namespace {

/// cos and sin of each position's angle for each channel pair, [T, D/2] each; angles in double.
template <class T>
struct Angles {
  std::vector<T> cos, sin;
};

template <class T>
Angles<T> angles(const Tensor& positions, Index half, double base) {
  std::vector<double> speeds;
  for (Index i = 0; i < half; ++i)
    speeds.push_back(std::pow(base, -static_cast<double>(i) / static_cast<double>(half)));
  Angles<T> result;
  for (const std::int32_t position : positions.span<std::int32_t>()) {
    for (const double speed : speeds) {
      const double angle = position * speed;
      result.cos.push_back(static_cast<T>(std::cos(angle)));
      result.sin.push_back(static_cast<T>(std::sin(angle)));
    }
  }
  return result;
}

/// y = x rotated by `direction` times its angle: +1 forward; -1 is the transpose, which takes gradients back.
template <class T>
void rotate(const Tensor& x, const Tensor& y, const Angles<T>& angles, Index num_positions, Index head_dim,
            T direction) {
  const Index cols = x.cols(), half = head_dim / 2;
  const T* x_nc = x.data<T>();
  T* y_nc = y.data<T>();
  parallel_rows(x.rows(), cols, 0.4, [&](Index begin, Index end) {
    for (Index n = begin; n < end; ++n) {
      const T* cos = angles.cos.data() + n % num_positions * half;
      const T* sin = angles.sin.data() + n % num_positions * half;
      for (Index first = n * cols; first < (n + 1) * cols; first += head_dim) {
        for (Index i = 0; i < half; ++i) {
          const T low = x_nc[first + i], high = x_nc[first + half + i], s = direction * sin[i];
          y_nc[first + i] = low * cos[i] - high * s;
          y_nc[first + half + i] = high * cos[i] + low * s;
        }
      }
    }
  });
}

Tensor rotated(const Tensor& x, const Tensor& positions, Index head_dim, double base, int direction) {
  const OpScope scope({"rope", 0, 2.0 * static_cast<double>(x.bytes())});
  Tensor y = reuse(x);
  dispatch(x.dtype(), [&]<class T>() {
    rotate<T>(x, y, angles<T>(positions, head_dim / 2, base), positions.numel(), head_dim,
              static_cast<T>(direction));
  });
  return y;
}

}  // namespace

Tensor rope(Tensor x, const Tensor& positions, Index head_dim, double base) {
  check(head_dim > 0 && head_dim % 2 == 0 && x.cols() % head_dim == 0, "rope", "x is ", x, " but a head has ",
        head_dim, " channels");
  check(x.shape().num_dims() == 3 && positions.numel() == x.dim(1), "rope", "x is ", x, " but there are ",
        positions.numel(), " positions");
  const Tensor slot = x.slot_only();
  return record(rotated(x, positions, head_dim, base, 1), {x}, [slot, positions, head_dim, base](Tensor dy) {
    Tensor dx = rotated(dy, positions, head_dim, base, -1);
    dy = Tensor();
    add_grad(slot, std::move(dx));
  });
}

}  // namespace tessera
