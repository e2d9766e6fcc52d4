#include "dist/plan/rounds.h"

#include <algorithm>
#include <ostream>

#include "dist/plan/require.h"

namespace tessera::plan {

std::ostream& operator<<(std::ostream& out, const Range& range) {
  return out << '[' << range.begin << ", " << range.end() << ')';
}

bool disjoint(const std::vector<Range>& ranges) {
  const auto overlap = [](const Range& a, const Range& b) { return a.end() > b.begin; };
  if (std::ranges::adjacent_find(ranges, overlap) == ranges.end()) return true;  // mostly they are in order
  std::vector<Range> sorted = ranges;
  std::erase_if(sorted, [](const Range& range) { return range.size == 0; });
  std::ranges::sort(sorted, {}, &Range::begin);
  return std::ranges::adjacent_find(sorted, overlap) == sorted.end();
}

Range share(Index count, int ranks, int i) {
  require_count("share", count);
  require_rank("share", i, ranks);
  const Index size = count / ranks, larger = count % ranks;
  return {i * size + std::min<Index>(i, larger), size + (i < larger ? 1 : 0)};
}

std::vector<Range> shares(Index count, int ranks) {
  require(ranks > 0, "shares", ranks, " ranks");
  std::vector<Range> parts;
  parts.reserve(static_cast<std::size_t>(ranks));
  for (int i = 0; i < ranks; ++i) parts.push_back(share(count, ranks, i));
  return parts;
}

std::vector<Range> in_a_row(const std::vector<Index>& sizes, Index begin) {
  std::vector<Range> parts;
  parts.reserve(sizes.size());
  for (const Index size : sizes) {
    parts.push_back({begin, size});
    begin += size;
  }
  return parts;
}

std::vector<Index> sizes_of(const std::vector<Range>& ranges) {
  std::vector<Index> sizes;
  for (const Range& range : ranges) sizes.push_back(range.size);
  return sizes;
}

Range hull(const std::vector<Range>& parts, int first, int last) {
  if (first >= last) return {};
  return {parts[first].begin, parts[last - 1].end() - parts[first].begin};
}

Step copy_here(const Range& source, const Range& target) {
  return {.send = source, .to = kHere, .receive = target, .from = kHere};
}

Rounds concatenate(Rounds first, const Rounds& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

Rounds reversed(Rounds rounds, Combine combine) {
  std::ranges::reverse(rounds);
  for (Round& round : rounds)
    for (Step& step : round)
      step = {
          .send = step.receive, .to = step.from, .receive = step.send, .from = step.to, .combine = combine};
  return rounds;
}

Volume operator+(const Volume& a, const Volume& b) {
  return {a.messages + b.messages, a.elements + b.elements};
}

Volume operator*(Index times, const Volume& volume) {
  return {times * volume.messages, times * volume.elements};
}

Volume volume_of(const Range& range) { return {range.size > 0 ? 1 : 0, range.size}; }

Traffic operator+(const Traffic& a, const Traffic& b) { return {a.sent + b.sent, a.received + b.received}; }

Traffic reversed(const Traffic& traffic) { return {traffic.received, traffic.sent}; }

Traffic traffic(const Rounds& rounds) {
  Traffic total;
  for (const Round& round : rounds)
    for (const Step& step : round)
      if (!step.local()) total = total + Traffic{volume_of(step.send), volume_of(step.receive)};
  return total;
}

void require_rank(const char* op, int rank, int ranks) {
  require(rank >= 0 && rank < ranks, op, "rank ", rank, " of ", ranks, " ranks");
}

void require_count(const char* op, Index count) { require(count >= 0, op, "count is ", count); }

void require_parts(const char* op, int rank, const std::vector<Range>& parts) {
  require_rank(op, rank, static_cast<int>(parts.size()));
  for (const Range& part : parts)
    require(part.begin >= 0 && part.size >= 0, op, "part ", part, " has size ", part.size);
  require(disjoint(parts), op, "the parts of the ", parts.size(), " ranks overlap");
}

}  // namespace tessera::plan
