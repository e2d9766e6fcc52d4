#pragma once

#include <string>
#include <vector>

#include "dist/parallel/layout_report.h"
#include "examples/train_report.h"

namespace tessera {

/// The page of train --report.
/// @param timeline each rank's events
std::string train_page(const TrainReport& report, const dist::LayoutReport& layout,
                       const std::vector<std::string>& timeline);

}  // namespace tessera
