// What an execution says of itself to people.

#include <set>

#include "dist/comm/execution_internal.h"

namespace tessera::dist {
namespace {

std::string ranks_text(const std::set<int>& ranks) {
  std::string text = ranks.size() > 1 ? "ranks" : "rank";
  for (const int rank : ranks) text += ' ' + std::to_string(rank);
  return text;
}

}  // namespace

std::string Execution::name() const {
  std::string text = to_string(options_.kind);
  if (collective()) text += std::string(" (") + to_string(options_.algorithm) + ')';
  return text + " on " + to_string(comm_->name);
}

std::string Execution::describe() const {
  std::set<int> from, to;
  for (const Piece& piece : pieces_)
    if (!piece.arrived)
      (piece.direction == Direction::receive ? from : to).insert(comm_->world_ranks[piece.peer]);
  std::string text = name();
  if (!from.empty()) text += ", waits for data from " + ranks_text(from);
  if (!to.empty()) text += (from.empty() ? ", waits for " : ", and for ") + ranks_text(to) + " to take data";
  return text;
}

}  // namespace tessera::dist
