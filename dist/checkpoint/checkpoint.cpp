#include "dist/checkpoint/checkpoint.h"

#include <algorithm>
#include <set>

#include "dist/comm/collectives.h"

namespace tessera::dist {
namespace {

/// Rank 0's text, on all ranks.
std::string text_of_first(const Comm& world, const std::string& text) {
  std::vector<std::int32_t> letters(
      static_cast<std::size_t>(max(world, world.rank() == 0 ? std::ssize(text) : 0)));
  if (world.rank() == 0) std::ranges::copy(text, letters.begin());
  broadcast(world, letters, 0);
  return {letters.begin(), letters.end()};
}

/// The boxes that this rank is to write: not empty, and not another rank's copy.
nn::BoxTensors written_here(nn::BoxTensors boxes, const LayoutReport& layout) {
  std::set<std::string> names;
  for (const HeldParameter& p : layout.parameters)
    if (p.first_copy && p.owned.shape.numel() > 0) names.insert(p.name);
  std::erase_if(boxes, [&](const nn::BoxTensor& t) { return !names.contains(t.parameter); });
  return boxes;
}

/// This rank's number among those that write something, and how many they are.
struct Part {
  int number = 0, count = 0;
};
Part part_of(const Comm& world, bool writes) {
  std::vector<Index> flags(static_cast<std::size_t>(world.size()));
  flags[static_cast<std::size_t>(world.rank())] = writes ? 1 : 0;
  all_gather(world, flags);
  Part part;
  for (int rank = 0; rank < world.size(); ++rank) {
    const int flag = static_cast<int>(flags[static_cast<std::size_t>(rank)]);
    part.count += flag;
    if (rank < world.rank()) part.number += flag;
  }
  return part;
}

}  // namespace

void save_checkpoint(const std::string& directory, const nn::CheckpointInfo& info,
                     const nn::Transformer& model, const nn::Optimizer& optimizer, const LayoutReport& layout,
                     const Comm& world) {
  const nn::BoxTensors boxes = written_here(nn::owned_boxes(model.parameters()), layout);
  const nn::BoxTensors states = written_here(nn::state_boxes(optimizer), layout);
  const std::string folder =
      text_of_first(world, world.rank() == 0 ? nn::new_checkpoint_folder(directory, info.step) : "");
  const Part part = part_of(world, !boxes.empty());
  if (!boxes.empty()) nn::write_checkpoint_part(directory, folder, part.number, boxes, states);
  barrier(world);
  if (world.rank() == 0) nn::commit_checkpoint(directory, folder, part.count, info);
  barrier(world);
}

}  // namespace tessera::dist
