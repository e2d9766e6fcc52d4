#include "dist/comm/mesh.h"

#include "dist/comm/comm_internal.h"

namespace tessera::dist {

struct Axis::State {
  Comm world;
  Axes axes;
  Grid grid;
  std::vector<Comm> comms{};
};

int Axis::size() const { return mesh_->grid.size(atomic_axes_); }
int Axis::rank() const { return mesh_->grid.coordinate(mesh_->world.rank(), atomic_axes_); }

Comm Axis::comm(const std::string& purpose) const {
  for (const Comm& comm : mesh_->comms)
    if (comm.name().axis == name_ && comm.name().purpose == purpose) return comm;
  const std::vector<int> members = mesh_->grid.group(mesh_->world.rank(), atomic_axes_);
  return mesh_->comms.emplace_back(group(mesh_->world, members, members.size() == 1, {name_, purpose}));
}

Mesh::Mesh(const Comm& world, const Degrees& degrees) : degrees_(complete(degrees, world.size())) {
  const Axes axes = factor(degrees_);
  state_ = std::make_shared<Axis::State>(Axis::State{world, axes, Grid(axes.atomic)});
}

const Comm& Mesh::world() const { return state_->world; }
const Grid& Mesh::grid() const { return state_->grid; }
const std::vector<Comm>& Mesh::comms() const { return state_->comms; }

Axis Mesh::axis(const std::string& name) const { return product({name}); }

Axis Mesh::product(const Grid::Names& names) const {
  std::string name;
  Grid::Names all;
  for (const std::string& part : names) {
    name += (name.empty() ? "" : " x ") + part;
    const auto named = state_->axes.named.find(part);
    const Grid::Names atomic = named == state_->axes.named.end() ? Grid::Names{part} : named->second;
    all.insert(all.end(), atomic.begin(), atomic.end());
  }
  return Axis(state_, name, state_->grid.ordered(all));  // throws for an unknown one
}

std::vector<Coordinate> Mesh::coords(int rank) const {
  std::vector<Coordinate> result;
  for (const std::string& name : told_axes(degrees_))
    result.push_back({name, grid().coordinate(rank, axis(name).atomic_axes())});
  return result;
}

}  // namespace tessera::dist
