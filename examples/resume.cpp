#include "examples/resume.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "tensor/check.h"

namespace tessera {
namespace {

/// As checkpoints and error messages spell the values that must agree.
std::map<std::string, std::string> spelled(const nn::ModelConfig& config) {
  const nlohmann::json fields = nn::to_json(config);
  std::map<std::string, std::string> values;
  for (const auto& [key, value] : fields.items()) values[key] = value.dump();
  return values;
}

void check_same(const std::string& directory, const std::map<std::string, std::string>& there,
                const std::map<std::string, std::string>& here) {
  for (const auto& [key, value] : here) {
    const auto found = there.find(key);
    check(found != there.end(), "--resume", directory, ": does not say its ", key, ", expected ", value);
    check(found->second == value, "--resume", directory, ": ", key, " is ", found->second, " there but ",
          value, " here");
  }
}

}  // namespace

nn::CheckpointInfo checkpoint_info(const TrainOptions& o, const nn::ModelConfig& config,
                                   const nn::Dataset& data, Index step) {
  return {config,
          step,
          {{"seed", std::to_string(o.seed)},
           {"batch", std::to_string(o.batch)},
           {"training tokens", std::to_string(data.num_train_tokens())},
           {"dtype", to_string(o.dtype)},
           {"optimizer", nn::to_string(o.optimizer.kind)},
           {"momentum", fmt::format("{}", o.optimizer.momentum)}}};
}

nn::Checkpoint open_checkpoint(const TrainOptions& o, const nn::ModelConfig& config,
                               const nn::Dataset& data) {
  nn::Checkpoint checkpoint(o.resume);
  check_same(o.resume, spelled(checkpoint.info().config), spelled(config));
  const Index step = checkpoint.info().step;
  check_same(o.resume, checkpoint.info().settings, checkpoint_info(o, config, data, step).settings);
  check(step < o.steps, "--resume", o.resume, ": has done ", step, " steps, expected fewer than --steps ",
        o.steps);
  return checkpoint;
}

}  // namespace tessera
