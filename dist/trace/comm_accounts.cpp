#include "dist/trace/comm_accounts.h"

#include <algorithm>

namespace tessera::dist {
namespace {

CommAccount& account_of(std::vector<CommAccount>& accounts, const Operation& operation) {
  const Channel& channel = *operation.channel;
  const auto found = std::ranges::find_if(accounts, [&](const CommAccount& a) {
    return a.op == operation.name && a.algorithm == operation.algorithm && a.axis == channel.axis &&
           a.purpose == channel.purpose;
  });
  if (found != accounts.end()) return *found;
  return accounts.emplace_back(CommAccount{.op = operation.name,
                                           .axis = channel.axis,
                                           .purpose = channel.purpose,
                                           .algorithm = operation.algorithm,
                                           .ranks = static_cast<int>(channel.world_ranks.size())});
}

plan::Topology topology_of(const Channel& channel) {
  std::ptrdiff_t most = 1;
  for (const int node : channel.nodes) most = std::max(most, std::ranges::count(channel.nodes, node));
  return {static_cast<int>(channel.world_ranks.size()), static_cast<int>(most)};
}

/// Once all participants are there.
double predicted_s(const Operation& operation, const plan::Network& network) {
  const Channel& channel = *operation.channel;
  const auto bytes = static_cast<double>(operation.bytes);
  if (operation.collective())
    return plan::predicted_s(plan::parse_kind(operation.name), plan::parse_algorithm(operation.algorithm),
                             bytes, topology_of(channel), network);
  const auto node = [&](int rank) { return channel.nodes[static_cast<std::size_t>(rank)]; };
  const auto& link = node(operation.from) == node(operation.to) ? network.node : network.across;
  return link.alpha_s + bytes * link.beta_s_per_byte;
}

}  // namespace

void add_operations(std::vector<CommAccount>& accounts, const std::vector<Operation>& operations,
                    const Arrivals& arrivals, const plan::Network& network) {
  for (std::size_t i = 0; i < operations.size(); ++i) {
    const Operation& operation = operations[i];
    CommAccount& account = account_of(accounts, operation);
    ++account.calls;
    account.messages += operation.messages_sent;
    account.bytes += operation.bytes_sent;
    account.buffer_bytes += operation.bytes;
    account.predicted_s += predicted_s(operation, network);
    account.seconds += std::max(0.0, operation.end_s - std::max(operation.begin_s, arrivals[i]));
  }
}

}  // namespace tessera::dist
