#include "dist/comm/degrees.h"

#include <algorithm>
#include <sstream>

#include "tensor/check.h"

namespace tessera::dist {
namespace {

bool divides(int part, int whole) { return whole % part == 0; }

bool contains(const Grid::Names& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

void check_each(const Degrees& d, const std::string& asked) {
  check(std::min({d.pp, d.cp, d.tp, d.ep}) >= 1 && d.dp >= 0 && d.shard >= 0, "mesh", "degrees ", asked,
        ", expected 1 or more");
}

// Moves from `outer` (outer to inner) what ep takes of it, innermost first. An axis that it ends in is split.
Grid::Names take_inner(std::vector<AtomicAxis>& outer, int ep, const std::string& asked) {
  Grid::Names taken;
  int left = ep;
  for (std::size_t i = outer.size(); i-- > 0 && left > 1;) {
    const auto [name, size] = outer[i];
    if (size == 1) continue;
    check(divides(size, left) || divides(left, size), "mesh", "ep in ", asked, " takes ", left, " ranks of ",
          name, "=", size, ", expected a multiple or a divisor of ", size);
    if (size > left) {
      outer[i] = {name + ".outer", size / left};
      outer.insert(outer.begin() + static_cast<std::ptrdiff_t>(i) + 1, {name + ".inner", left});
      taken.insert(taken.begin(), name + ".inner");
      break;
    }
    taken.insert(taken.begin(), name);
    left /= size;
  }
  return taken;
}

}  // namespace

std::string to_string(const Degrees& d) {
  std::ostringstream text;
  text << "pp=" << d.pp << " dp=" << d.dp << " cp=" << d.cp << " tp=" << d.tp;
  if (d.ep != 1) text << " ep=" << d.ep;
  if (d.shard != 0 && d.shard != d.dp) text << " shard=" << d.shard;
  return text.str();
}

bool hybrid(const Degrees& d) { return d.shard > 1 && d.shard < d.dp; }

Degrees complete(Degrees d, int ranks) {
  std::string asked = to_string(d);
  if (d.dp == 0) asked.erase(asked.find(" dp=0"), 5);
  check_each(d, asked);
  const double others = static_cast<double>(d.pp) * d.cp * d.tp;  // exact, or too large anyway
  if (d.dp == 0) {
    check(others <= ranks && divides(static_cast<int>(others), ranks), "mesh", asked, " do not divide ",
          ranks, " ranks");
    d.dp = ranks / static_cast<int>(others);
  }
  check(others * d.dp == ranks, "mesh", asked, " make ", others * d.dp, " ranks, but there are ", ranks);
  if (d.shard == 0) d.shard = d.dp;
  check(divides(d.shard, d.dp), "mesh", "shard=", d.shard, " does not divide dp=", d.dp);
  check(divides(d.ep, d.dp * d.cp), "mesh", "ep=", d.ep, " does not divide dp x cp = ", d.dp, " x ", d.cp);
  factor(d);
  return d;
}

Axes factor(const Degrees& d) {
  std::vector<AtomicAxis> data = {{"dp", d.dp}};
  if (hybrid(d)) data = {{"replicate", d.dp / d.shard}, {"shard", d.shard}};
  data.push_back({"cp", d.cp});
  const Grid::Names ep = take_inner(data, d.ep, to_string(d));

  // What is left of the axes `names` in one piece, or in two.
  const auto parts = [&](const Grid::Names& names) {
    Grid::Names result;
    for (const AtomicAxis& axis : data)
      if (contains(names, axis.name.substr(0, axis.name.find('.')))) result.push_back(axis.name);
    return result;
  };
  Grid::Names edp = parts({"dp", "replicate", "shard", "cp"});
  std::erase_if(edp, [&](const std::string& name) { return contains(ep, name); });

  Axes axes{.atomic = {{"pp", d.pp}}};
  axes.atomic.insert(axes.atomic.end(), data.begin(), data.end());
  axes.atomic.push_back({"tp", d.tp});
  axes.named = {{"pp", {"pp"}},
                {"dp", parts({"dp", "replicate", "shard"})},
                {"replicate", parts({d.shard == 1 ? "dp" : "replicate"})},
                {"shard", parts({d.shard == d.dp ? "dp" : "shard"})},
                {"cp", parts({"cp"})},
                {"tp", {"tp"}},
                {"ep", ep},
                {"edp", edp}};
  return axes;
}

Grid::Names told_axes(const Degrees& d) {
  Grid::Names names = {"pp", "dp"};
  if (hybrid(d)) names.insert(names.end(), {"replicate", "shard"});
  names.insert(names.end(), {"cp", "tp"});
  if (d.ep > 1) names.insert(names.end(), {"ep", "edp"});
  return names;
}

}  // namespace tessera::dist
