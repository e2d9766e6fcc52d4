#pragma once

// What writing and reading of checkpoints agree on. Internal: not installed.

#include <string>

namespace tessera::nn {

inline constexpr const char *kModelFile = "model", *kOptimizerFile = "optimizer";
inline constexpr const char *kBoxes = "boxes", *kGlobalShape = "global_shape", *kOffset = "offset";
inline constexpr const char *kFirst = "first.", *kSecond = "second.";

std::string manifest_file(const std::string& directory);
std::string checkpoint_file(const std::string& directory, const std::string& folder, const char* kind,
                            int part);
/// Whether a folder has a name that we give: "step-100", "step-100.2".
bool is_checkpoint_folder(const std::string& name);

}  // namespace tessera::nn
