#include "nn/optimizer.h"

#include <array>
#include <cmath>
#include <numeric>

#include "nn/names.h"
#include "tensor/context.h"
#include "tensor/threads.h"

namespace tessera::nn {
namespace {

constexpr Named<OptimizerKind> kKinds[] = {{"sgd", OptimizerKind::sgd}, {"adamw", OptimizerKind::adamw}};
constexpr Index kPiece = 1 << 15;

/// body(i) for every element, in vectorised pieces that threads share.
template <class Body>
void update_elements(Index count, Body&& body) {
  parallel_pieces(count, kPiece, [&](Index begin, Index end) {
#pragma omp simd
    for (Index i = begin; i < end; ++i) body(i);
  });
}

/// Sum of squares in double. Sixteen sums at a time: one would wait for its last addition at every step.
template <class T>
double squares(const T* g, Index count) {
  std::array<double, 16> sums{};
  Index i = 0;
  for (; i + 16 <= count; i += 16) {
#pragma omp simd
    for (Index lane = 0; lane < 16; ++lane) {
      const auto value = static_cast<double>(g[i + lane]);
      sums[static_cast<std::size_t>(lane)] += value * value;
    }
  }
  double sum = std::accumulate(sums.begin(), sums.end(), 0.0);
  for (; i < count; ++i) sum += static_cast<double>(g[i]) * static_cast<double>(g[i]);
  return sum;
}

template <class T>
void sgd(const Optimizer::State& state, T lr, T grad_scale, T momentum, T decay) {
  const Parameter& p = *state.parameter;
  T* w = p.owned_value.data<T>();
  const T* g = p.owned_grad.data<T>();
  if (!state.first.defined()) {
    return update_elements(p.owned_value.numel(),
                           [=](Index i) { w[i] -= lr * (grad_scale * g[i] + decay * w[i]); });
  }
  T* m = state.first.data<T>();
  update_elements(p.owned_value.numel(), [=](Index i) {
    m[i] = momentum * m[i] + grad_scale * g[i];
    w[i] -= lr * (m[i] + decay * w[i]);
  });
}

template <class T>
void adamw(const Optimizer::State& state, double lr, T grad_scale, const OptimizerOptions& o, T decay,
           Index step) {
  const Parameter& p = *state.parameter;
  T *w = p.owned_value.data<T>(), *m = state.first.data<T>(), *v = state.second.data<T>();
  const T* g = p.owned_grad.data<T>();
  const T beta1 = static_cast<T>(o.beta1), beta2 = static_cast<T>(o.beta2),
          epsilon = static_cast<T>(o.epsilon);
  const T rest1 = static_cast<T>(1 - o.beta1), rest2 = static_cast<T>(1 - o.beta2);
  // m^ = m / (1 - beta1^t), v^ = v / (1 - beta2^t): the means start at 0 and would be too small without.
  const T rate = static_cast<T>(lr / (1 - std::pow(o.beta1, step)));
  const T root = static_cast<T>(1 / std::sqrt(1 - std::pow(o.beta2, step)));
  const T keep = static_cast<T>(1 - lr * static_cast<double>(decay));
  update_elements(p.owned_value.numel(), [=](Index i) {
    const T grad = grad_scale * g[i];
    m[i] = beta1 * m[i] + rest1 * grad;
    v[i] = beta2 * v[i] + rest2 * grad * grad;
    w[i] = w[i] * keep - rate * m[i] / (std::sqrt(v[i]) * root + epsilon);
  });
}

}  // namespace

const char* to_string(OptimizerKind kind) { return name_of(kKinds, kind); }
OptimizerKind optimizer_from(const std::string& name) { return value_of("optimizer", kKinds, name); }

Optimizer::Optimizer(Parameters parameters, const OptimizerOptions& options) : options_(options) {
  for (ParameterPtr& parameter : parameters) states_.push_back({std::move(parameter), {}, {}});
}

void Optimizer::step(double lr, double grad_scale) {
  const OpScope scope({"optimizer"});
  const bool adam = options_.kind == OptimizerKind::adamw;
  ++steps_;
  for (State& state : states_) {
    const Parameter& p = *state.parameter;
    check(p.owned_grad.defined(), "optimizer", p.name, " has no finished gradient");
    make_state(state);
    const double decay = p.decays() ? options_.weight_decay : 0;
    dispatch(p.owned_value.dtype(), [&]<class T>() {
      const T scale = static_cast<T>(grad_scale);
      if (adam)
        adamw(state, lr, scale, options_, static_cast<T>(decay), steps_);
      else
        sgd(state, static_cast<T>(lr), scale, static_cast<T>(options_.momentum), static_cast<T>(decay));
    });
  }
}

void Optimizer::make_state(State& state) const {
  const bool adam = options_.kind == OptimizerKind::adamw;
  const Tensor& value = state.parameter->owned_value;
  const auto zeros = [&] { return Tensor::zeros(value.shape(), value.dtype(), Category::optimizer); };
  if (!state.first.defined() && (adam || options_.momentum != 0)) state.first = zeros();
  if (!state.second.defined() && adam) state.second = zeros();
}

void Optimizer::start_at(Index steps) {
  steps_ = steps;
  for (State& state : states_) make_state(state);
}

double squared_grad_norm(const Parameters& parameters) {
  const OpScope scope({"gradient norm"});
  double total = 0;
  for (const ParameterPtr& p : parameters) {
    const Index count = p->owned_grad.numel(), pieces = (count + kPiece - 1) / kPiece;
    const Tensor sums({pieces}, DType::f64, Category::scratch);
    auto* sum_n = sums.data<double>();
    dispatch(p->owned_grad.dtype(), [&]<class T>() {
      const T* g = p->owned_grad.data<T>();
      parallel_pieces(count, kPiece, [&](Index begin, Index end) {
        sum_n[begin / kPiece] = squares(g + begin, end - begin);
      });
    });
    for (const double sum : sums.span<double>()) total += sum;
  }
  return total;
}

double clip_scale(double norm, double max_norm) {
  return max_norm > 0 && norm > max_norm ? max_norm / norm : 1;
}

}  // namespace tessera::nn
