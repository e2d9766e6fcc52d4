#pragma once

#include <string>

#include "examples/history.h"

namespace tessera {

/// Training loss ('.', means over a column's steps) and validation loss ('o') over updates, as lines of plain
/// text. Empty for a run of less than two steps.
std::string plot_loss(const History& history, int columns = 72, int rows = 14);

}  // namespace tessera
