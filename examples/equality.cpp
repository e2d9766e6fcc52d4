#include "examples/equality.h"

#include <cmath>
#include <limits>

namespace tessera {
namespace {

constexpr double kF64Bound = 1e-11, kF32Factor = 4;

/// The box of a whole tensor.
Tensor cut(const Tensor& whole, const nn::Box& box, DType dtype) {
  Tensor part(box.shape, dtype);
  nn::copy_overlap(whole, nn::Box::whole(whole.shape()), part, box);
  return part;
}

/// max|x|, or max|x - y|; infinite for a NaN.
template <class X, class Y>
double largest(Index count, const X* x, const Y* y) {
  double worst = 0;
  for (Index i = 0; i < count; ++i) {
    const double value = std::abs(static_cast<double>(x[i]) - (y ? static_cast<double>(y[i]) : 0.0));
    if (!(value <= worst)) worst = std::isnan(value) ? std::numeric_limits<double>::infinity() : value;
  }
  return worst;
}
double largest(const Tensor& x) {
  return dispatch(x.dtype(), [&]<class T>() { return largest<T, T>(x.numel(), x.data<T>(), nullptr); });
}
double largest_difference(const Tensor& x, const Tensor& y) {
  return dispatch(x.dtype(), [&]<class X>() {
    return dispatch(y.dtype(), [&]<class Y>() { return largest(x.numel(), x.data<X>(), y.data<Y>()); });
  });
}

double ratio(double difference, double scale) { return difference == 0 ? 0 : difference / scale; }

double series_error(const std::vector<double>& a, const std::vector<double>& b) {
  double worst = 0;
  for (std::size_t i = 0; i < b.size(); ++i) {
    const double error = ratio(std::abs(a[i] - b[i]), std::abs(b[i]));
    worst = std::max(worst, std::isnan(error) ? std::numeric_limits<double>::infinity() : error);
  }
  return worst;
}

/// The parameter whose gradient gives number i's scale.
std::size_t scale_of(std::size_t i, const nn::Parameters& parameters, const nn::ModelConfig& config) {
  const std::string& name = parameters[i]->name;
  if (config.position == nn::Position::rope || !name.ends_with("attention.k.bias")) return i;
  const std::string weight = name.substr(0, name.rfind('.')) + ".weight";
  const auto found = std::ranges::find(parameters, weight, [](const auto& p) { return p->name; });
  return static_cast<std::size_t>(found - parameters.begin());
}

/// The largest of each number over all ranks.
void max_over_ranks(std::vector<double>& values, const dist::Comm& world) {
  dist::all_reduce(world, values, {.reduction = dist::Reduction::max});
}

}  // namespace

Errors compare(const Trace& got, const nn::Parameters& boxes, const Trace& want, const EqualityCase& what,
               const dist::Comm& world) {
  const std::size_t count = boxes.size();
  std::vector<double> differences;  // of gradients, then of updated weights, then whether initial ones differ
  for (std::size_t i = 0; i < count; ++i)
    differences.push_back(largest_difference(got.grads[i], cut(want.grads[i], boxes[i]->owned, DType::f64)));
  for (std::size_t i = 0; i < count; ++i)
    differences.push_back(
        largest_difference(got.updated[i], cut(want.updated[i], boxes[i]->owned, DType::f64)));
  for (std::size_t i = 0; i < count; ++i) {
    const Tensor part = cut(want.initial[i], boxes[i]->owned, got.initial[i].dtype());
    differences.push_back(same_bits(got.initial[i], part) ? 0 : 1);
  }
  max_over_ranks(differences, world);

  Errors errors;
  errors.loss = series_error(got.losses, want.losses);
  errors.norm = series_error(got.norms, want.norms);
  double worst = -1;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t scale = scale_of(i, boxes, what.config);
    const double of_gradient = largest(want.grads[scale]);
    const double of_value =
        scale == i ? largest(want.updated[i]) : kEqualityLr * kEqualitySteps * of_gradient;
    const double gradient = ratio(differences[i], of_gradient);
    const double update = ratio(differences[count + i], of_value);
    errors.gradient = std::max(errors.gradient, gradient);
    errors.update = std::max(errors.update, update);
    errors.initial_weights_equal = errors.initial_weights_equal && differences[2 * count + i] == 0;
    if (std::max(gradient, update) > worst) {
      worst = std::max(gradient, update);
      errors.worst_parameter = boxes[i]->name;
    }
  }
  return errors;
}

bool Verdict::pass() const {
  return errors.worst() <= bound && errors.initial_weights_equal && replicas_equal && problem.empty();
}

Verifier::Verifier(EqualityCase what, dist::Comm world)
    : what_(std::move(what)), world_(std::move(world)), reference_(tessera::reference(what_, DType::f64)) {
  nn::Parameters whole = nn::Transformer(what_.config).parameters();
  single_f32_ = compare(tessera::reference(what_, DType::f32), whole, reference_, what_, world_).worst();
}

Verdict Verifier::verify(const Layout& layout, const EqualityOptions& options) const {
  const LayoutRun run = run_layout(what_, layout, options, world_);
  return {layout,
          options.dtype,
          compare(run.trace, run.parameters, reference_, what_, world_),
          options.dtype == DType::f64 ? kF64Bound : kF32Factor * single_f32_,
          run.replicas_equal,
          run.problem};
}

}  // namespace tessera
