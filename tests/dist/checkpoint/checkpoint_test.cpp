// Any layout loads what any other has saved: parameters and moments to the bit, and training goes on alike.

#include "dist/checkpoint/checkpoint.h"

#include "dist/parallel/data_parallel.h"
#include "tests/dist/parallel/equality_test.h"
#include "tests/nn/temporary.h"
#include "tests/tensor/gradcheck.h"

namespace tessera::dist {
namespace {

/// A folder that all ranks know; rank 0 makes and removes it.
class SharedFolder {
 public:
  SharedFolder() {
    std::vector<std::int32_t> letters(256);
    if (world().rank() == 0) {
      folder_.emplace();
      std::ranges::copy(folder_->path(), letters.begin());
    }
    broadcast(world(), letters, 0);
    path_.assign(letters.begin(), std::ranges::find(letters, 0));
  }
  ~SharedFolder() { barrier(world()); }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::optional<testing::TemporaryDirectory> folder_;
  std::string path_;
};

/// The first `ranks` ranks of the world; undefined on the others.
Comm first_ranks(int ranks) {
  const Comm comm = split(world(), world().rank() < ranks ? 0 : 1, 0, {"first", std::to_string(ranks)});
  return world().rank() < ranks ? comm : Comm();
}

/// A model in training at a ZeRO level.
struct Training {
  Training(const Comm& comm, int level)
      : mesh(comm, {}),
        model(testing::tiny_model(true, 0.1)),
        parallel(
            parallelize(model, mesh, {.seed = 4, .dtype = DType::f64, .std_override = 0.2, .zero = level})),
        optimizer(model.parameters(), {}) {}

  std::vector<double> losses_of_steps(Index begin, Index end) {
    std::vector<double> losses;
    for (Index step = begin; step < end; ++step) {
      const nn::Batch all = global_batch(step);
      const plan::Range share = plan::share(all.num_sequences(), mesh.world().size(), mesh.world().rank());
      losses.push_back(nn::train_step(model, optimizer, nn::slice(all, share.begin, share.end()),
                                      {.microbatches = 2, .clip = 0.5, .step = step}, parallel.exchange)
                           .loss);
    }
    return losses;
  }
  void save(const std::string& folder) const {
    save_checkpoint(folder, {model.config(), optimizer.steps()}, model, optimizer, parallel.report,
                    mesh.world());
  }
  void load(const std::string& folder) {
    const nn::Checkpoint checkpoint(folder);
    checkpoint.load(model.parameters());
    checkpoint.load(optimizer);
  }

  /// Parameters and moments, whole: each element from one of its owners, and zero from all other ranks.
  std::vector<Tensor> state() const {
    nn::BoxTensors boxes = nn::owned_boxes(model.parameters());
    for (const nn::BoxTensor& moment : nn::state_boxes(optimizer)) boxes.push_back(moment);
    std::vector<Tensor> whole;
    for (const nn::BoxTensor& t : boxes) {
      whole.push_back(Tensor::zeros(t.global_shape, t.data.dtype()));
      const auto& held = parallel.report.parameters;
      const auto found = std::ranges::find(held, t.parameter, &HeldParameter::name);
      if (found->first_copy) nn::copy_overlap(t.data, t.box, whole.back(), nn::Box::whole(t.global_shape));
      all_reduce(mesh.world(), whole.back());
    }
    return whole;
  }

  Mesh mesh;
  nn::Transformer model;
  Parallel parallel;
  nn::Optimizer optimizer;
};

bool same(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  return std::ranges::equal(a, b, [](const Tensor& x, const Tensor& y) { return same_bits(x, y); });
}

struct Saved {
  std::string folder;
  std::vector<Tensor> state;
  std::vector<double> losses;  // of the next steps
};

/// What `ranks` ranks save at a level after two steps; state and losses on those alone.
Saved saved_by(const std::string& folder, const Comm& comm, int level) {
  Saved saved = {folder, {}, {}};
  if (!comm.defined()) return saved;
  Training run(comm, level);
  run.losses_of_steps(0, 2);
  run.save(folder);
  saved.state = run.state();
  saved.losses = run.losses_of_steps(2, 5);
  return saved;
}

void expect_loads(const Saved& saved, const Comm& comm, int level) {
  Training run(comm, level);
  run.load(saved.folder);
  EXPECT_EQ(run.optimizer.steps(), 2);
  const std::vector<Tensor> state = run.state();
  const std::vector<double> losses = run.losses_of_steps(2, 5);
  if (saved.state.empty()) return;  // saved by fewer ranks than these
  EXPECT_TRUE(same(state, saved.state)) << saved.folder << " on " << comm.size() << " ranks, level " << level;
  for (std::size_t i = 0; i < losses.size(); ++i) EXPECT_NEAR(losses[i] / saved.losses[i], 1, 1e-11);
}

TEST(Checkpoint, AnyLayoutLoadsAnyOther) {
  if (world().size() != 4) GTEST_SKIP() << "once, on the first 2, 3 and 4 of 4 ranks";
  const SharedFolder folder;
  const Comm comms[] = {first_ranks(2), first_ranks(3), first_ranks(4)};
  std::vector<Saved> all;
  for (const Comm& comm : comms)
    for (int level = 0; level < 4; ++level) {
      all.push_back(saved_by(folder / std::to_string(all.size()), comm, level));
      barrier(world());
    }
  for (const Saved& saved : all)
    for (const Comm& comm : comms)
      for (int level = 0; level < 4 && comm.defined(); ++level) expect_loads(saved, comm, level);
}

TEST(Checkpoint, TheSameLayoutGoesOnToTheBit) {
  const SharedFolder folder;
  for (int level = 0; level < (world().size() > 1 ? 4 : 1); ++level) {
    const std::string place = folder / std::to_string(level);
    Training whole(world(), level), first(world(), level), second(world(), level);
    whole.losses_of_steps(0, 4);
    first.losses_of_steps(0, 2);
    first.save(place);
    second.load(place);
    second.losses_of_steps(2, 4);
    EXPECT_TRUE(same(second.state(), whole.state())) << level;
  }
}

TEST(Checkpoint, EachRankWritesItsShareAndOneFolderStays) {
  const SharedFolder folder;
  const int level = world().size() > 1 ? 3 : 0;
  Training run(world(), level);
  run.losses_of_steps(0, 1);
  run.save(folder / "c");
  run.losses_of_steps(1, 2);
  run.save(folder / "c");
  run.save(folder / "c");  // of the same step: in a folder of its own, too
  namespace fs = std::filesystem;
  EXPECT_FALSE(fs::exists(folder / "c/step-1"));
  EXPECT_FALSE(fs::exists(folder / "c/step-2"));
  Index bytes = 0, files = 0;
  for (const auto& entry : fs::directory_iterator(folder / "c/step-2.2")) {
    ++files;
    bytes += static_cast<Index>(entry.file_size());
  }
  EXPECT_EQ(files, 2 * world().size());
  const Index data = 3 * 8 * nn::count_elements(run.model.parameters());
  EXPECT_GE(bytes, data);
  EXPECT_LT(bytes, 2 * data + files * 20000);
  barrier(world());
}

}  // namespace
}  // namespace tessera::dist
