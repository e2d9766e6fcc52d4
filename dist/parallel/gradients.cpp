#include "dist/parallel/gradients.h"

#include <cmath>
#include <stdexcept>

#include "dist/parallel/rank_major.h"
#include "nn/optimizer.h"
#include "nn/train_step.h"
#include "tensor/autograd.h"
#include "tensor/ops.h"

namespace tessera::dist {
namespace {

// Whole gradients that leave after every microbatch take memory until they are reduced: beside the bucket
// that backward fills, at most so many.
constexpr std::size_t kMostInFlight = 1;

}  // namespace

/// Parameters whose gradients need the same sums.
struct GradientFinaliser::Bucket {
  nn::Parameters parameters;
  Comm scatter, sum;  // undefined: no such sum
  std::size_t num_missing = 0;
  std::vector<Tensor> whole{};  // gradients in the used boxes, while under way
  Work work{};
};

GradientFinaliser::GradientFinaliser(const Mesh& mesh, PlacementTable table, Buckets buckets,
                                     const GradientOptions& options)
    : table_(std::move(table)), options_(options) {
  table_.check_complete();
  std::size_t count = 0;
  for (const nn::Parameters& parameters : buckets) {
    add_buckets(mesh, parameters);
    count += parameters.size();
  }
  if (count != table_.parameters().size())
    throw std::logic_error("[gradients] " + std::to_string(count) + " parameters in buckets, but there are " +
                           std::to_string(table_.parameters().size()));
  group_norms(mesh);
  for (const auto& bucket : buckets_)
    for (const nn::ParameterPtr& p : bucket->parameters)
      set_gradient_hook(p->value, [this, b = bucket.get()] { gradient_ready(*b); });
}

GradientFinaliser::~GradientFinaliser() {
  for (const nn::ParameterPtr& p : table_.parameters()) set_gradient_hook(p->value, {});
}

// One bucket per set of sums: parameters that are replicated differently cannot travel together.
void GradientFinaliser::add_buckets(const Mesh& mesh, const nn::Parameters& parameters) {
  std::map<std::pair<Grid::Names, Grid::Names>, nn::Parameters> by_axes;
  for (const nn::ParameterPtr& p : parameters)
    by_axes[{table_.axes_where(p, {Held::sharded, Share::partial}),
             table_.axes_where(p, {Held::replicated, Share::partial})}]
        .push_back(p);
  const auto comm = [&](const Grid::Names& names) {
    return names.empty() ? Comm() : mesh.product(names).comm("gradients");
  };
  for (auto& [axes, members] : by_axes)
    buckets_.push_back(
        std::make_unique<Bucket>(Bucket{std::move(members), comm(axes.first), comm(axes.second)}));
}

void GradientFinaliser::group_norms(const Mesh& mesh) {
  std::map<Grid::Names, nn::Parameters> by_axes;
  for (const nn::ParameterPtr& p : table_.parameters())
    by_axes[table_.axes_where(p, Held::sharded)].push_back(p);
  for (auto& [names, parameters] : by_axes)
    norm_groups_.push_back(
        {names.empty() ? Comm() : mesh.product(names).comm("norm"), std::move(parameters)});
}

bool GradientFinaliser::takes_part(const Bucket& bucket) const {
  return last_ || (options_.every_microbatch && bucket.scatter.defined());
}

void GradientFinaliser::begin_microbatch(bool last) {
  while (!in_flight_.empty()) settle_oldest();
  last_ = last;
  next_ = 0;
  for (const auto& bucket : buckets_) bucket->num_missing = bucket->parameters.size();
}

void GradientFinaliser::gradient_ready(Bucket& bucket) {
  --bucket.num_missing;
  start_ready();
}

void GradientFinaliser::start_ready() {
  for (; next_ < buckets_.size() && buckets_[next_]->num_missing == 0; ++next_)
    if (takes_part(*buckets_[next_])) start(*buckets_[next_]);
}

void GradientFinaliser::start(Bucket& bucket) {
  while (!in_flight_.empty() && (in_flight_.front()->work.done() ||
                                 (options_.every_microbatch && in_flight_.size() >= kMostInFlight)))
    settle_oldest();
  const bool leaves = options_.every_microbatch && bucket.scatter.defined();
  for (const nn::ParameterPtr& p : bucket.parameters) {
    bucket.whole.push_back(nn::gradient_or_zero(*p));
    if (leaves) p->value.zero_grad();
  }
  if (bucket.scatter.defined()) {
    const RankMajor rows = rank_major(bucket.whole, bucket.scatter.size());
    bucket.work = reduce_scatter_async(bucket.scatter, rows.buffer, rows.parts, options_.collectives);
  } else if (bucket.sum.defined()) {
    bucket.work = all_reduce_async(bucket.sum, bucket.whole, options_.collectives);
  }
  in_flight_.push_back(&bucket);
  if (!options_.overlap) settle_oldest();
}

void GradientFinaliser::settle_oldest() {
  Bucket& bucket = *in_flight_.front();
  in_flight_.pop_front();
  settle(bucket);
}

// The rows that are owned here are whole now, as far as the first sum goes. With both sums, the second one
// starts after the last microbatch, on all of the step's gradient.
void GradientFinaliser::settle(Bucket& bucket) {
  bucket.work.wait();
  const bool leaves = options_.every_microbatch && bucket.scatter.defined();
  std::vector<Tensor> owned;
  for (std::size_t i = 0; i < bucket.parameters.size(); ++i) {
    nn::Parameter& p = *bucket.parameters[i];
    const Tensor rows = p.owned_rows(bucket.whole[i]);
    if (!leaves)
      p.owned_grad = rows;
    else if (!p.owned_grad.defined())
      p.owned_grad = rows.clone(Category::gradient);
    else
      add_into(p.owned_grad, rows);
    owned.push_back(p.owned_grad);
    bucket.whole[i] = Tensor();
  }
  bucket.whole.clear();
  if (!last_ || !bucket.scatter.defined() || !bucket.sum.defined()) return;
  bucket.work = all_reduce_async(bucket.sum, owned, options_.collectives);
  if (!options_.overlap) bucket.work.wait();
}

void GradientFinaliser::finish() {
  if (!last_ || next_ != buckets_.size())
    throw std::logic_error("[gradients] finish() after " + std::to_string(next_) + " of " +
                           std::to_string(buckets_.size()) + " buckets of the last microbatch");
  while (!in_flight_.empty()) settle_oldest();
  for (const auto& bucket : buckets_) bucket->work.wait();
  last_ = false;
}

double GradientFinaliser::norm() const {
  double total = 0;
  for (const NormGroup& group : norm_groups_) {
    const double squares = nn::squared_grad_norm(group.parameters);
    total += group.comm.defined() ? sum(group.comm, squares) : squares;
  }
  return std::sqrt(total);
}

}  // namespace tessera::dist
