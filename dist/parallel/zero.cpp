#include "dist/parallel/zero.h"

#include "dist/parallel/rank_major.h"

namespace tessera::dist {

void zero(PlacementTable& table, const Axis& shard, int level) {
  check(level > 0 && level < kZeroLevels, "zero", "level ", level, ", expected 1 to ", kZeroLevels - 1);
  for (const nn::ParameterPtr& p : table.parameters()) {
    const plan::Range rows = row_share(p->used.shape[0], shard.size(), shard.rank());
    p->owned = p->used.rows(rows.begin, rows.end());
    p->owned_apart = level == 3;
    for (const std::string& axis : shard.atomic_axes())
      table.declare(p, axis, {.held = Held::sharded, .gradient = Share::partial});
  }
}

void gather_values(const nn::Parameters& parameters, const Comm& shard, const CollectiveOptions& options) {
  std::vector<Tensor> values;
  for (const nn::ParameterPtr& p : parameters) values.push_back(p->value.detach());
  const RankMajor rows = rank_major(values, shard.size());
  all_gather(shard, rows.buffer, rows.parts, options);
}

}  // namespace tessera::dist
