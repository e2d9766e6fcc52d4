#include "dist/parallel/gradients.h"

#include <cmath>

#include "nn/optimizer.h"
#include "nn/train_step.h"

namespace tessera::dist {

GradientFinaliser::GradientFinaliser(const Mesh& mesh, PlacementTable table, CollectiveOptions options)
    : table_(std::move(table)), options_(options) {
  table_.check_complete();
  by_partial_ =
      groups(mesh, "gradients", [&](const auto& p) { return table_.axes_where(p, Share::partial); });
  by_sharded_ = groups(mesh, "norm", [&](const auto& p) { return table_.axes_where(p, Held::sharded); });
}

std::vector<GradientFinaliser::Group> GradientFinaliser::groups(
    const Mesh& mesh, const std::string& purpose,
    const std::function<Grid::Names(const nn::ParameterPtr&)>& axes) const {
  std::map<Grid::Names, nn::Parameters> by_axes;
  for (const nn::ParameterPtr& p : table_.parameters()) by_axes[axes(p)].push_back(p);
  std::vector<Group> result;
  for (auto& [names, parameters] : by_axes) {
    result.push_back({names.empty() ? Comm() : mesh.product(names).comm(purpose), std::move(parameters)});
  }
  return result;
}

void GradientFinaliser::finish() const {
  for (const Group& group : by_partial_) {
    std::vector<Tensor> grads;
    for (const nn::ParameterPtr& p : group.parameters) grads.push_back(nn::gradient_or_zero(*p));
    if (group.comm.defined()) all_reduce(group.comm, grads, options_);
    for (std::size_t i = 0; i < grads.size(); ++i) {
      group.parameters[i]->owned_grad = group.parameters[i]->owned_rows(grads[i]);
    }
  }
}

double GradientFinaliser::norm() const {
  double total = 0;
  for (const Group& group : by_sharded_) {
    const double squares = nn::squared_grad_norm(group.parameters);
    total += group.comm.defined() ? sum(group.comm, squares) : squares;
  }
  return std::sqrt(total);
}

}  // namespace tessera::dist
