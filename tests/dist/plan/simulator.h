#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <deque>
#include <map>
#include <ostream>
#include <random>
#include <tuple>
#include <utility>
#include <vector>

#include "dist/plan/rounds.h"
#include "dist/plan/validate.h"

/// All ranks of a collective in one process.
namespace tessera::plan {

inline const std::vector<Index> kCounts = {0, 1, 2, 3, 7, 1000, 4097};
inline constexpr int kMaxRanks = 8;

inline void PrintTo(const Traffic& traffic, std::ostream* out) {
  *out << "sent " << traffic.sent.messages << " messages, " << traffic.sent.elements << " elements; received "
       << traffic.received.messages << ", " << traffic.received.elements;
}

/// One buffer per rank.
template <class T>
using Buffers = std::vector<std::vector<T>>;

/// Unique per rank and position; in a sum over ranks each rank has four bits of its own, so that one counted
/// twice or left out shows.
inline Index value(int rank, Index position) { return position + (Index{1} << (20 + 4 * rank)); }

inline Buffers<Index> unique_values(int ranks, Index count) {
  Buffers<Index> buffers(ranks);
  for (int rank = 0; rank < ranks; ++rank)
    for (Index i = 0; i < count; ++i) buffers[rank].push_back(value(rank, i));
  return buffers;
}

inline Index sum_of_values(int ranks, Index position) {
  Index sum = 0;
  for (int rank = 0; rank < ranks; ++rank) sum += value(rank, position);
  return sum;
}

/// Numbers of very different sizes, so that a sum depends on its order.
inline Buffers<float> random_floats(int ranks, Index count) {
  std::mt19937 random(1);
  std::lognormal_distribution<float> size(0, 4);
  Buffers<float> buffers(ranks, std::vector<float>(count));
  for (auto& buffer : buffers)
    for (float& x : buffer) x = (random() % 2 ? 1.0F : -1.0F) * size(random);
  return buffers;
}

/// The rounds of every rank, from rounds_of(rank), after checking that they are valid, that their traffic is
/// traffic_of(rank), and that a single rank sends nothing.
template <class RoundsOf, class TrafficOf>
std::vector<Rounds> all_ranks(int ranks, Index count, RoundsOf rounds_of, TrafficOf traffic_of) {
  std::vector<Rounds> by_rank;
  for (int rank = 0; rank < ranks; ++rank) {
    by_rank.push_back(rounds_of(rank));
    EXPECT_EQ(traffic(by_rank.back()), traffic_of(rank))
        << "rank " << rank << " of " << ranks << ", count " << count;
  }
  EXPECT_NO_THROW(validate(by_rank, count)) << ranks << " ranks, count " << count;
  EXPECT_TRUE(ranks > 1 || traffic(by_rank[0]) == Traffic{});
  return by_rank;
}

template <class T>
std::vector<T> read(const std::vector<T>& buffer, const Range& range) {
  return {buffer.begin() + range.begin, buffer.begin() + range.end()};
}

template <class T>
void write(std::vector<T>& buffer, const Range& range, const std::vector<T>& received, Combine combine) {
  for (Index i = 0; i < range.size; ++i) {
    T& x = buffer[range.begin + i];
    x = combine == Combine::add ? x + received[i] : received[i];
  }
}

/// Who a step's peer is: a copy within the buffer is like a message to oneself.
inline int peer_of(int rank, int peer) { return peer == kHere ? rank : peer; }

/// Runs the rounds one after another: in each, all ranks send, then all receive. Every message must find one
/// receive of its size.
template <class T>
void run(const std::vector<Rounds>& by_rank, Buffers<T>& buffers) {
  const int ranks = static_cast<int>(by_rank.size());
  for (std::size_t r = 0; r < by_rank[0].size(); ++r) {
    std::map<std::pair<int, int>, std::deque<std::vector<T>>> mail;
    for (int rank = 0; rank < ranks; ++rank)
      for (const Step& step : by_rank[rank].at(r))
        if (step.send.size > 0)
          mail[{rank, peer_of(rank, step.to)}].push_back(read(buffers.at(rank), step.send));

    for (int rank = 0; rank < ranks; ++rank)
      for (const Step& step : by_rank[rank].at(r)) {
        if (step.receive.size == 0) continue;
        auto& messages = mail[{peer_of(rank, step.from), rank}];
        ASSERT_FALSE(messages.empty()) << "round " << r << ", rank " << rank << " from " << step.from;
        ASSERT_EQ(std::ssize(messages.front()), step.receive.size) << "round " << r << ", rank " << rank;
        write(buffers[rank], step.receive, messages.front(), step.combine);
        messages.pop_front();
      }
    for (const auto& [ends, messages] : mail)
      ASSERT_TRUE(messages.empty()) << "round " << r << ", from " << ends.first << " to " << ends.second;
  }
}

/// One end of one segment of a message.
struct Task {
  bool sends;
  int rank, round;
  Range range;
  Combine combine;
  std::tuple<int, int, int, int> message;  // round, from, to, and its number among those
};

/// Cuts all messages into segments of at most `segment` elements.
inline std::vector<Task> segments(const std::vector<Rounds>& by_rank, Index segment) {
  std::vector<Task> tasks;
  for (int rank = 0; rank < std::ssize(by_rank); ++rank)
    for (int r = 0; r < std::ssize(by_rank[rank]); ++r) {
      std::map<int, int> num_sent, num_received;
      for (const auto& [send, to_peer, receive, from_peer, combine] : by_rank[rank][r]) {
        const int to = peer_of(rank, to_peer), from = peer_of(rank, from_peer);
        for (Index i = 0; i < send.size; i += segment)
          tasks.push_back({true,
                           rank,
                           r,
                           {send.begin + i, std::min(segment, send.size - i)},
                           combine,
                           {r, rank, to, num_sent[to]++}});
        for (Index i = 0; i < receive.size; i += segment)
          tasks.push_back({false,
                           rank,
                           r,
                           {receive.begin + i, std::min(segment, receive.size - i)},
                           combine,
                           {r, from, rank, num_received[from]++}});
      }
    }
  return tasks;
}

/// Whether `b` must wait for `a`, by the rule in rounds.h.
inline bool orders(const Task& a, const Task& b) {
  const bool overlap = a.range.begin < b.range.end() && b.range.begin < a.range.end();
  const bool earlier = a.round < b.round || (a.round == b.round && a.sends && !b.sends);
  return a.rank == b.rank && overlap && earlier && !(a.sends && b.sends);
}

/// Runs segments in a random order, held back by nothing but that rule and the arrival of messages: the most
/// that any executor could run ahead.
template <class T>
void run_ahead(const std::vector<Rounds>& by_rank, Buffers<T>& buffers, Index segment, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<Task> tasks = segments(by_rank, segment);
  std::map<std::tuple<int, int, int, int>, std::vector<T>> mail;
  const auto ready = [&](const Task& b) {
    return (b.sends || mail.contains(b.message)) &&
           std::ranges::none_of(tasks, [&](const Task& a) { return orders(a, b); });
  };
  while (!tasks.empty()) {
    std::ranges::shuffle(tasks, random);
    const auto task = std::ranges::find_if(tasks, ready);
    ASSERT_NE(task, tasks.end()) << "deadlock with " << tasks.size() << " tasks left";
    if (task->sends)
      mail[task->message] = read(buffers[task->rank], task->range);
    else
      write(buffers[task->rank], task->range, mail.at(task->message), task->combine);
    tasks.erase(task);
  }
}

/// All ranks hold the same bits (== alone would let -0 pass for 0).
inline void expect_bit_identical(const Buffers<float>& buffers) {
  const auto bits = [](float x) { return std::bit_cast<std::uint32_t>(x); };
  for (const std::vector<float>& buffer : buffers)
    EXPECT_TRUE(std::ranges::equal(buffer, buffers[0], {}, bits, bits)) << buffers.size() << " ranks";
}

/// Running ahead changes no bit.
inline void expect_order_is_free(const std::vector<Rounds>& by_rank, Index count) {
  const int ranks = static_cast<int>(by_rank.size());
  Buffers<float> in_order = random_floats(ranks, count);
  run(by_rank, in_order);
  for (unsigned seed = 0; seed < 10; ++seed) {
    Buffers<float> ahead = random_floats(ranks, count);
    run_ahead(by_rank, ahead, 1 + seed % 3, seed);
    EXPECT_EQ(ahead, in_order) << ranks << " ranks, seed " << seed;
  }
}

}  // namespace tessera::plan
