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

}  // namespace

void add_operations(std::vector<CommAccount>& accounts, const std::vector<Operation>& operations,
                    const Arrivals& arrivals) {
  for (std::size_t i = 0; i < operations.size(); ++i) {
    const Operation& operation = operations[i];
    CommAccount& account = account_of(accounts, operation);
    ++account.calls;
    account.messages += operation.messages_sent;
    account.bytes += operation.bytes_sent;
    account.buffer_bytes += operation.bytes;
    account.seconds += std::max(0.0, operation.end_s - std::max(operation.begin_s, arrivals[i]));
  }
}

}  // namespace tessera::dist
