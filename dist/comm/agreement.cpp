#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <span>
#include <sstream>
#include <stdexcept>
#include <thread>

#include "dist/comm/agreement_internal.h"
#include "dist/comm/execution_internal.h"
#include "dist/plan/ring.h"

namespace tessera::dist {
namespace {

// Kind, algorithm, count, element, reduction, and how many collectives came before.
using Call = std::array<Index, 6>;

std::string to_string(const Call& call) {
  const auto& [kind, algorithm, count, element, reduction, before] = call;
  std::ostringstream text;
  text << to_string(static_cast<Kind>(kind)) << " (" << to_string(static_cast<Algorithm>(algorithm)) << ", "
       << (static_cast<Reduction>(reduction) == Reduction::sum ? "sum" : "max") << ") of " << count << ' '
       << to_string(static_cast<Element>(element)) << ", after " << before << " collectives";
  return text.str();
}

std::string ranks_that_call(const Call& call, const std::vector<Call>& calls, const CommState& state) {
  std::string text;
  int count = 0;
  for (std::size_t rank = 0; rank < calls.size(); ++rank)
    if (calls[rank] == call && ++count > 0) text += ' ' + std::to_string(state.world_ranks[rank]);
  return (count > 1 ? "ranks" : "rank") + text;
}

// "[check] collectives differ on dp gradients: ranks 0 2 call all_reduce ...; rank 1 calls barrier ..."
std::string difference(const std::vector<Call>& calls, const CommState& state) {
  std::string text = "[check] collectives differ on " + to_string(state.name);
  std::vector<Call> told;
  for (const Call& call : calls) {
    if (std::ranges::find(told, call) != told.end()) continue;
    text += (told.empty() ? ": " : "; ") + ranks_that_call(call, calls, state) + ": " + to_string(call);
    told.push_back(call);
  }
  return text;
}

// All ranks know it, so that one of them can say it for all; the others speak if it does not.
void throw_difference(const std::vector<Call>& calls, const CommState& state) {
  if (state.rank > 0) std::this_thread::sleep_for(std::chrono::seconds(3));
  throw std::runtime_error(difference(calls, state));
}

}  // namespace

std::function<bool()> begin_agreement(const Comm& comm, const Buffer& buffer, const RunOptions& options,
                                      int tag) {
  const auto calls = std::make_shared<std::vector<Call>>(comm.size());
  (*calls)[comm.rank()] = {static_cast<Index>(options.kind),
                           static_cast<Index>(options.algorithm),
                           buffer.count(),
                           static_cast<Index>(buffer.element()),
                           static_cast<Index>(options.reduction),
                           comm.state().num_agreements++};
  const std::span<Index> numbers(calls->front().data(), calls->size() * Call().size());
  const std::vector<plan::Range> parts = plan::shares(std::ssize(numbers), comm.size());
  const auto exchange = start(std::make_shared<Execution>(
      comm.shared_state(), numbers,
      std::make_shared<const plan::Rounds>(plan::ring_all_gather(comm.rank(), parts)),
      RunOptions{.kind = options.kind, .algorithm = options.algorithm}, tag, comm.state().agreements));
  return [calls, exchange, state = comm.shared_state()] {
    if (!exchange->done()) return false;
    for (const Call& call : *calls)
      if (call != calls->front()) throw_difference(*calls, *state);
    return true;
  };
}

}  // namespace tessera::dist
