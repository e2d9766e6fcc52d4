// Fully sharded: between uses a rank has its own rows of every parameter; a block's others come just before
// the block runs, and go when it has.
//
//   mpirun -n 4 build/bin/04_fully_sharded
//
//     60096 parameters: 4 blocks of 12704, and the ends with 9280. Rank 0 owns 15024.
//
//       forward of blocks.0    34688 elements gathered: the ends and 2 blocks
//       forward of blocks.1    34688 elements gathered: the ends and 2 blocks
//       forward of blocks.2    34688 elements gathered: the ends and 2 blocks
//       forward of blocks.3    21984 elements gathered: the ends and 1 blocks
//       backward of blocks.3   34688 elements gathered: the ends and 2 blocks
//       backward of blocks.2   34688 elements gathered: the ends and 2 blocks
//       backward of blocks.1   34688 elements gathered: the ends and 2 blocks
//       backward of blocks.0   21984 elements gathered: the ends and 1 blocks
//
//       rank       owned  sent: parameters  sent: gradients
//          0       15024             73656            45072
//          1       15024             73656            45072
//          2       15024             73656            45072
//          3       15024             73656            45072
//
//     holds: the ends and two blocks are the most that is ever gathered: this one, and the next on its way
//     holds: after the step a rank has what it owns
//     holds: what is not kept is gathered twice: (2P - K)(n-1) elements in all
//     holds: gradients are reduced once: P (n-1) elements in all
//
// What to change: more layers (kLayers). The sum of all parameters grows, what is here at a time does not.

#include <algorithm>

#include "dist/parallel/data_parallel.h"
#include "dist/parallel/parallelize.h"
#include "examples/corpus.h"
#include "examples/lessons/lesson.h"
#include "nn/data.h"
#include "tensor/autograd.h"
#include "tensor/context.h"

namespace tessera {
namespace {

constexpr Index kLayers = 4;

Index parameters_here() { return context().ledger.current_bytes(Category::parameter) / bytes_of(DType::f32); }

/// What is here when forward and backward come to each block.
struct Sighting {
  std::string where;
  Index elements;
};

/// Looks at what the strategy has done around each block, and changes nothing.
void watch(nn::Transformer& model, std::vector<Sighting>& sightings) {
  for (const auto& block : model.blocks) {
    const auto see = [&sightings](const std::string& where) {
      sightings.push_back({where, parameters_here()});
    };
    block->before = [inner = block->before, see, name = block->name] {
      inner();
      see("forward of " + name);
    };
    // A node in front of the strategy's own is passed after it on the way back.
    block->after = [inner = block->after, see, name = block->name](Tensor y) {
      return inner(on_backward(std::move(y), [see, name] { see("backward of " + name); }));
    };
  }
}

Index elements(const nn::Parameters& parameters) { return nn::count_elements(parameters); }

void lesson(Lesson& l) {
  const dist::Comm& world = l.world();
  if (world.size() == 1) return l.say("One rank has nobody to share with: mpirun -n 4\n");
  nn::ModelConfig config = nn::find_model("gpt-pico");
  config.layers = kLayers;
  const nn::Dataset data = nn::Dataset::from_bytes(tessera_corpus(), "the built-in text", config.context);
  const dist::Mesh mesh(world, {});
  nn::Transformer model(config);
  const Index all = elements(model.parameters()), block = elements(model.blocks[0]->parameters());
  const Index ends = all - kLayers * block, others = world.size() - 1;

  const Index before = parameters_here();
  const dist::Parallel parallel =
      dist::parallelize(model, mesh, {.zero = 3, .collectives = {.algorithm = dist::Algorithm::ring}});
  const Index owned = parameters_here() - before;
  std::vector<Sighting> sightings;
  watch(model, sightings);
  nn::Optimizer optimizer(model.parameters(), {});
  const nn::Batch batch = dist::data_share(data, mesh.axis("dp"), 1, 0, 2 * world.size());
  nn::train_step(model, optimizer, batch, {}, parallel.exchange);

  l.say("{} parameters: {} blocks of {}, and the ends with {}. Rank 0 owns {}.\n\n", all, kLayers, block,
        ends, owned);
  Index most = 0;
  for (const Sighting& s : sightings) {
    const Index gathered = s.elements - owned - before;
    most = std::max(most, gathered);
    l.say("  {:20} {:7} elements gathered: the ends and {:.0f} blocks\n", s.where, gathered,
          static_cast<double>(gathered - ends) / static_cast<double>(block));
  }
  const auto sent = [&](const char* purpose) {
    return static_cast<double>(mesh.axis("dp").comm(purpose).counter().bytes_sent) / 4;
  };
  l.say("\n");
  l.table({"owned", "sent: parameters", "sent: gradients"},
          {static_cast<double>(owned), sent("parameters"), sent("gradients")});

  l.say("\n");
  l.claim("the ends and two blocks are the most that is ever gathered: this one, and the next on its way",
          most == ends + 2 * block);
  l.claim("after the step a rank has what it owns", parameters_here() - before == owned);
  const Index kept = ends + block;  // the last block is the first of backward
  l.claim("what is not kept is gathered twice: (2P - K)(n-1) elements in all",
          dist::sum(world, sent("parameters")) == static_cast<double>((2 * all - kept) * others));
  l.claim("gradients are reduced once: P (n-1) elements in all",
          dist::sum(world, sent("gradients")) == static_cast<double>(all * others));
}

}  // namespace
}  // namespace tessera

int main(int argc, char** argv) {
  return tessera::run_lesson(argc, argv, "04_fully_sharded", "Parameters come and go.", tessera::lesson);
}
