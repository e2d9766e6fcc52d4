#pragma once

#include <cstdint>
#include <iosfwd>
#include <vector>

/// Collective algorithms as data.
///
/// A collective works in place on one logical buffer of `count` elements that every rank has. An algorithm is
/// a pure function that returns the rounds of one rank: comm executes them, the planner prices them, reports
/// draw them, tests simulate them. A family that needs room beyond its operands asks for a longer buffer and
/// says so.
///
/// What rounds mean (validate.h checks it):
///  - All ranks have the same number of rounds; an idle rank's is empty. What is sent in a round is received
///    in the same round: the n-th message from a to b by b's n-th receive from a, which has the same size.
///  - Sends read the buffer as it was before the round. Receives then copy into their range, or add to it.
///  - Ranges received in one round are disjoint, so the order of arrival changes no bit.
///  - A range received by copy is disjoint from what the round sends, too, so it may arrive in place. One
///    received by add may overlap: it arrives in scratch of its size, and is added once those sends are done.
///  - An empty range is no message; nor is a step from and to kHere, which copies within the buffer, and is
///    otherwise like a message from the rank to itself.
///
/// The result is that of one round after the other, but nothing synchronizes rounds; only overlap orders the
/// steps of a rank. A send waits for earlier rounds' receives into its elements, a receive is combined after
/// earlier rounds' sends and receives of its elements. So an executor may cut messages into segments, alike
/// at both ends, and let segments run ahead.
namespace tessera::plan {

/// Sizes, offsets and counts of elements.
using Index = std::int64_t;

/// The elements [begin, begin + size) of the buffer.
struct Range {
  Index begin = 0;
  Index size = 0;

  Index end() const { return begin + size; }
  bool operator==(const Range&) const = default;
};

/// Prints "[begin, end)".
std::ostream& operator<<(std::ostream& out, const Range& range);

/// Whether no element is in two of the ranges.
bool disjoint(const std::vector<Range>& ranges);

/// Part i when `count` elements are split over `ranks`: in order, the first count % ranks parts one larger.
/// @throws std::invalid_argument unless 0 <= i < ranks and count >= 0.
Range share(Index count, int ranks, int i);

/// All shares of `count` elements, in order. @throws std::invalid_argument unless ranks > 0 and count >= 0.
std::vector<Range> shares(Index count, int ranks);

/// Ranges of these sizes, one after the other, the first of them at `begin`.
std::vector<Range> in_a_row(const std::vector<Index>& sizes, Index begin = 0);

/// The sizes of ranges.
std::vector<Index> sizes_of(const std::vector<Range>& ranges);

/// parts[first] to parts[last - 1], which lie in a row, as one. Empty if there are none.
Range hull(const std::vector<Range>& parts, int first, int last);

/// What becomes of received elements: they replace the buffer's, or buffer = buffer + received.
enum class Combine { copy, add };

/// The peer of a step that copies `send` to `receive` within the buffer.
inline constexpr int kHere = -2;

/// Sends one range and receives another, both at once. Either may be empty, and then its peer means nothing.
struct Step {
  Range send{};
  int to = -1;
  Range receive{};
  int from = -1;
  Combine combine = Combine::copy;

  bool local() const { return to == kHere; }
};

/// Copies one range of the buffer to another one of its size. No message.
Step copy_here(const Range& source, const Range& target);

using Round = std::vector<Step>;
using Rounds = std::vector<Round>;

/// `first`, and then `second`.
Rounds concatenate(Rounds first, const Rounds& second);

/// Run backwards: the rounds in reverse order, each message from its receiver to its sender.
Rounds reversed(Rounds rounds, Combine combine);

/// A number of messages, and the elements in all of them.
struct Volume {
  Index messages = 0;
  Index elements = 0;

  bool operator==(const Volume&) const = default;
};

Volume operator+(const Volume& a, const Volume& b);
Volume operator*(Index times, const Volume& volume);

/// One message, or none if the range is empty.
Volume volume_of(const Range& range);

/// What one rank sends and receives.
struct Traffic {
  Volume sent{};
  Volume received{};

  bool operator==(const Traffic&) const = default;
};

Traffic operator+(const Traffic& a, const Traffic& b);

/// That of the same rounds, reversed().
Traffic reversed(const Traffic& traffic);

/// Counts one rank's rounds. Beside each algorithm x stands its closed form x_traffic; tests hold them equal.
Traffic traffic(const Rounds& rounds);

/// Argument checks for the algorithms, on behalf of `op`. Parts are one range per rank, in any order, of any
/// sizes with zero included, possibly with gaps between them.
/// @throws std::invalid_argument unless 0 <= rank < ranks; count >= 0; no part is negative, no two overlap.
void require_rank(const char* op, int rank, int ranks);
void require_count(const char* op, Index count);
void require_parts(const char* op, int rank, const std::vector<Range>& parts);

}  // namespace tessera::plan
