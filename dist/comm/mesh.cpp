#include "dist/comm/mesh.h"

#include <sstream>

#include "dist/comm/comm_internal.h"
#include "tensor/check.h"

namespace tessera::dist {

std::string to_string(const Degrees& degrees) {
  std::ostringstream text;
  text << "pp=" << degrees.pp << " dp=" << degrees.dp << " cp=" << degrees.cp << " tp=" << degrees.tp;
  return text.str();
}

Degrees complete(Degrees degrees, int ranks) {
  const std::string asked = degrees.dp == 0
                                ? "pp=" + std::to_string(degrees.pp) + " cp=" + std::to_string(degrees.cp) +
                                      " tp=" + std::to_string(degrees.tp)
                                : to_string(degrees);
  check(degrees.pp >= 1 && degrees.dp >= 0 && degrees.cp >= 1 && degrees.tp >= 1, "mesh", "degrees ", asked,
        ", expected 1 or more");
  const double others =
      static_cast<double>(degrees.pp) * degrees.cp * degrees.tp;  // exact, or too large anyway
  if (degrees.dp == 0) {
    check(others <= ranks && ranks % static_cast<int>(others) == 0, "mesh", asked, " do not divide ", ranks,
          " ranks");
    degrees.dp = ranks / static_cast<int>(others);
  }
  check(others * degrees.dp == ranks, "mesh", asked, " make ", others * degrees.dp, " ranks, but there are ",
        ranks);
  return degrees;
}

struct Axis::State {
  Comm world;
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
  const auto& [pp, dp, cp, tp] = degrees_;
  state_ = std::make_shared<Axis::State>(
      Axis::State{world, Grid({{"pp", pp}, {"dp", dp}, {"cp", cp}, {"tp", tp}})});
}

const Comm& Mesh::world() const { return state_->world; }
const Grid& Mesh::grid() const { return state_->grid; }
const std::vector<Comm>& Mesh::comms() const { return state_->comms; }

Axis Mesh::axis(const std::string& name) const { return product({name}); }

Axis Mesh::product(const Grid::Names& names) const {
  state_->grid.size(names);  // throws for an unknown one
  std::string name;
  for (const std::string& part : names) name += (name.empty() ? "" : " x ") + part;
  return Axis(state_, name, names);
}

}  // namespace tessera::dist
