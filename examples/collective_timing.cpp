#include "examples/collective_timing.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "dist/comm/progress.h"

namespace tessera {
namespace {

using dist::Comm;

constexpr double kTurn_s = 0.1;  // what a turn may take, unless it is asked for a number of calls
constexpr int kFewestCalls = 2, kMostCalls = 200;

double median(std::vector<double> values) {
  const auto middle = values.begin() + std::ssize(values) / 2;
  std::ranges::nth_element(values, middle);
  return *middle;
}

double seconds_of(const std::function<void()>& call) {
  const double begin_s = dist::now_s();
  call();
  return dist::now_s() - begin_s;
}

int calls_in_a_turn(const Comm& comm, const Contender& contender, const TimingOptions& options) {
  contender.call();  // memory and connections
  if (options.calls > 0) return options.calls;
  const double time_s = dist::max(comm, seconds_of(contender.call));
  return static_cast<int>(std::clamp<double>(kTurn_s / time_s, kFewestCalls, kMostCalls));
}

/// Every call's time, as all ranks see it.
std::vector<double> turn(const Comm& comm, const Contender& contender, int calls, bool in_step) {
  std::vector<double> times;
  contender.call();  // after another contender's turn, caches are its own
  dist::barrier(comm);
  for (int i = 0; i < calls; ++i) {
    if (in_step) dist::barrier(comm);
    times.push_back(seconds_of(contender.call));
  }
  dist::all_reduce(comm, times, {.reduction = in_step ? dist::Reduction::max : dist::Reduction::sum});
  if (!in_step)
    for (double& time_s : times) time_s /= comm.size();
  return times;
}

/// A message there and back.
void ping_pong(const Comm& comm, int peer, std::span<std::byte> message) {
  if (comm.rank() == 0) {
    dist::send_async(comm, message, peer).wait();
    dist::receive_async(comm, message, peer).wait();
  } else if (comm.rank() == peer) {
    dist::receive_async(comm, message, 0).wait();
    dist::send_async(comm, message, 0).wait();
  }
}

/// The shortest of `calls` calls on rank 0, known to all.
double shortest_s(const Comm& comm, int calls, const std::function<void()>& call) {
  double best_s = 1e9;
  call();
  for (int i = 0; i < calls; ++i) best_s = std::min(best_s, seconds_of(call));
  std::vector<double> result = {best_s};
  dist::broadcast(comm, result, 0);
  return result[0];
}

}  // namespace

std::vector<CallTimes> time_calls(const Comm& comm, const std::vector<Contender>& contenders, bool in_step,
                                  const TimingOptions& options) {
  std::vector<std::vector<double>> all(contenders.size()), means(contenders.size());
  std::vector<int> calls;
  for (const Contender& contender : contenders) calls.push_back(calls_in_a_turn(comm, contender, options));
  for (int round = 0; round < options.rounds; ++round)
    for (std::size_t i = 0; i < contenders.size(); ++i) {
      const std::vector<double> times = turn(comm, contenders[i], calls[i], in_step);
      all[i].insert(all[i].end(), times.begin(), times.end());
      means[i].push_back(std::reduce(times.begin(), times.end()) / static_cast<double>(times.size()));
    }
  std::vector<CallTimes> results;
  for (std::size_t i = 0; i < contenders.size(); ++i)
    results.push_back({std::ranges::min(all[i]), median(all[i]), median(means[i])});
  return results;
}

double MessageTimes::best_bandwidth() const {
  double best = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) best = std::max(best, bytes[i] / seconds[i]);
  return best;
}

MessageTimes time_messages(const Comm& comm, int peer) {
  MessageTimes times;
  constexpr Index kLargest = 64 << 20;
  const Tensor memory = Tensor::zeros({kLargest / 4}, DType::f32, Category::communication);
  auto* const message = static_cast<std::byte*>(memory.storage()->data());
  for (Index bytes = 16; bytes <= kLargest; bytes *= 4) {
    const int calls = static_cast<int>(std::clamp<Index>((256 << 20) / bytes, 10, 1000));
    const std::span part(message, static_cast<std::size_t>(bytes));
    times.bytes.push_back(static_cast<double>(bytes));
    times.seconds.push_back(shortest_s(comm, calls, [&] { ping_pong(comm, peer, part); }) / 2);
  }
  return times;
}

plan::LinkPrice fit_link(const Comm& comm, int peer, const MessageTimes& times) {
  // Least squares of (alpha + beta n) / t - 1: large messages must not outweigh small ones.
  double aa = 0, ab = 0, bb = 0, a = 0, b = 0;
  for (std::size_t i = 0; i < times.bytes.size(); ++i) {
    const double u = 1 / times.seconds[i], v = times.bytes[i] / times.seconds[i];
    aa += u * u;
    ab += u * v;
    bb += v * v;
    a += u;
    b += v;
  }
  const double determinant = aa * bb - ab * ab;
  constexpr int kMany = 64;
  std::vector<std::byte> message(8);
  const auto one_after_the_other = [&] {
    for (int i = 0; i < kMany; ++i) {
      if (comm.rank() == 0) dist::send_async(comm, message, peer).wait();
      if (comm.rank() == peer) dist::receive_async(comm, message, 0).wait();
    }
    ping_pong(comm, peer, message);
  };
  return {.alpha_s = std::max((a * bb - b * ab) / determinant, 1e-9),
          .beta_s_per_byte = std::max((b * aa - a * ab) / determinant, 1e-15),
          .per_message_s = shortest_s(comm, 200, one_after_the_other) / (kMany + 2)};
}

double time_add() {
  constexpr Index kCount = 1 << 18;
  std::vector<float> sum(kCount), packed(kCount);
  const dist::Buffer buffer(sum);
  double best_s = 1e9;
  for (int i = 0; i < 20; ++i)
    best_s = std::min(best_s, seconds_of([&] {
                        buffer.combine({0, kCount}, reinterpret_cast<const std::byte*>(packed.data()),
                                       dist::Reduction::sum);
                      }));
  return best_s / (4.0 * kCount);
}

}  // namespace tessera
