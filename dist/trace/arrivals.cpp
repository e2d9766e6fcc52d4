#include "dist/trace/arrivals.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "dist/comm/collectives.h"
#include "dist/trace/gather.h"

namespace tessera::dist {
namespace {

/// An operation's beginning on one rank, on rank 0's clock.
struct Beginning {
  std::uint64_t channel;
  std::int64_t order;
  std::int32_t from, to, tag, unused;
  double time_s;

  /// Equal on all participants.
  auto key() const { return std::tuple(channel, order, from, to, tag); }
};

Beginning beginning_of(const Operation& operation, const ClockOffset& offset) {
  return {operation.channel->key,
          operation.order,
          operation.from,
          operation.to,
          operation.tag,
          0,
          operation.begin_s + offset.offset_s};
}

}  // namespace

Arrivals exchange_arrivals(const Comm& world, const std::vector<Operation>& operations,
                           const ClockOffset& offset) {
  std::vector<Beginning> mine;
  for (const Operation& operation : operations) mine.push_back(beginning_of(operation, offset));
  std::map<decltype(mine.front().key()), double> last_s;
  for (const Beginning& beginning : mine) last_s[beginning.key()] = beginning.time_s;

  for (const Beginning& beginning : all_of(world, mine)) {
    const auto found = last_s.find(beginning.key());
    if (found != last_s.end()) found->second = std::max(found->second, beginning.time_s);
  }
  Arrivals arrivals;
  for (std::size_t i = 0; i < mine.size(); ++i)
    arrivals.push_back(operations[i].begin_s + (last_s[mine[i].key()] - mine[i].time_s));
  return arrivals;
}

}  // namespace tessera::dist
