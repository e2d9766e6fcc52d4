#include "dist/trace/chrome_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <ostream>
#include <tuple>

namespace tessera::dist {
namespace {

/// Rounded to nanoseconds at both ends, so that spans nest in the file if they do on the rank.
class Clock {
 public:
  explicit Clock(double to_origin_s) : to_origin_s_(to_origin_s) {}
  std::string at(double time_s) const { return microseconds(nanoseconds(time_s)); }
  std::string between(double begin_s, double end_s) const {
    return microseconds(std::max<std::int64_t>(0, nanoseconds(end_s) - nanoseconds(begin_s)));
  }

 private:
  std::int64_t nanoseconds(double time_s) const { return std::llround((time_s + to_origin_s_) * 1e9); }
  static std::string microseconds(std::int64_t ns) {
    return fmt::format("{:.3f}", static_cast<double>(ns) * 1e-3);
  }

  double to_origin_s_;
};

std::string name_of(const Operation& operation) {
  const Channel& channel = *operation.channel;
  return fmt::format("{} {}{}{}", operation.name, channel.axis, channel.purpose.empty() ? "" : " ",
                     channel.purpose);
}

/// Operations that overlap lie in different lanes: each takes the first that is free.
std::vector<int> lanes_of(const std::vector<Operation>& operations) {
  std::vector<double> free_from_s;
  std::vector<int> lanes;
  for (const Operation& operation : operations) {
    auto lane = std::ranges::find_if(free_from_s, [&](double free_s) { return free_s <= operation.begin_s; });
    if (lane == free_from_s.end()) lane = free_from_s.insert(lane, 0);
    *lane = operation.end_s;
    lanes.push_back(static_cast<int>(lane - free_from_s.begin()) + 1);
  }
  return lanes;
}

class Writer {
 public:
  Writer(const Recorder& recorder, const Arrivals& arrivals, int rank, double to_origin_s)
      : recorder_(recorder), arrivals_(arrivals), rank_(rank), clock_(to_origin_s) {}

  std::string write() {
    for (const Span& span : recorder_.spans()) add(span);
    const std::vector<int> lanes = lanes_of(recorder_.operations());
    for (std::size_t i = 0; i < lanes.size(); ++i) add(i, lanes[i]);
    add_arrows(lanes);
    return std::move(text_);
  }

 private:
  template <class... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
  }

  void slice(int thread, const std::string& name, const char* category, double begin_s, double end_s,
             const std::string& args) {
    line(R"({{"ph":"X","pid":{},"tid":{},"ts":{},"dur":{},"name":"{}","cat":"{}","args":{{{}}}}})"
         "\n",
         rank_, thread, clock_.at(begin_s), clock_.between(begin_s, end_s), name, category, args);
  }

  void add(const Span& span) {
    if (span.kind == SpanKind::comm && std::string_view(span.name) == "poll") return;  // nothing moved
    const char* category = to_string(span.kind);
    switch (span.kind) {
      case SpanKind::step:
        return slice(0, fmt::format("step {}", span.number), category, span.begin_s, span.end_s, "");
      case SpanKind::wait:
        return add_wait(span);
      default:
        return slice(0, span.name, category, span.begin_s, span.end_s,
                     span.flops > 0 ? fmt::format(R"("flops":{:.0f})", span.flops) : "");
    }
  }

  void add_wait(const Span& span) {
    if (span.number < 0) return slice(0, "wait", "wait", span.begin_s, span.end_s, "");
    const auto i = static_cast<std::size_t>(span.number);
    const double arrived_s = std::clamp(arrivals_[i], span.begin_s, span.end_s);
    slice(0, "wait: " + name_of(recorder_.operations()[i]), "wait", span.begin_s, span.end_s, "");
    if (arrived_s > span.begin_s) slice(0, "slower peer", "wait", span.begin_s, arrived_s, "");
    if (arrived_s < span.end_s) slice(0, "exposed", "exposed", arrived_s, span.end_s, "");
  }

  void add(std::size_t i, int lane) {
    const Operation& operation = recorder_.operations()[i];
    slice(lane, name_of(operation), "operation", operation.begin_s, operation.end_s,
          fmt::format(R"("algorithm":"{}","bytes":{},"sent":{},"all_began":{})", operation.algorithm,
                      operation.bytes, operation.bytes_sent, clock_.at(arrivals_[i])));
  }

  void add_arrows(const std::vector<int>& lanes) {
    std::vector<Transfer> transfers = recorder_.transfers();
    std::ranges::sort(transfers, {},
                      &Transfer::order);  // seen in any order, posted in one that both sides share
    std::map<std::tuple<std::int64_t, int, bool>, int> counts;
    for (const Transfer& transfer : transfers) {
      const int number = counts[{transfer.operation, transfer.peer, transfer.sent}]++;
      const auto i = static_cast<std::size_t>(transfer.operation);
      line(R"({{"ph":"{}","pid":{},"tid":{},"ts":{},"id":"{}","name":"message","cat":"message"{}}})"
           "\n",
           transfer.sent ? "s" : "f", rank_, lanes[i],
           clock_.at(transfer.sent ? transfer.begin_s : transfer.end_s),
           arrow(recorder_.operations()[i], transfer, number), transfer.sent ? "" : R"(,"bp":"e")");
    }
  }

  static std::string arrow(const Operation& operation, const Transfer& transfer, int number) {
    const int self = operation.channel->rank;
    return fmt::format("{:x}.{}.{}.{}-{}.{}", operation.channel->key, operation.order, operation.tag,
                       transfer.sent ? self : transfer.peer, transfer.sent ? transfer.peer : self, number);
  }

  const Recorder& recorder_;
  const Arrivals& arrivals_;
  int rank_;
  Clock clock_;
  std::string text_;
};

/// Names that the viewer shows: of the process, and of its threads, of which `events` has the numbers.
std::string metadata(int rank, const std::string& name, const std::string& events) {
  std::string text;
  const auto add = [&](const char* what, int thread, const nlohmann::json& args) {
    const nlohmann::json line = {{"ph", "M"}, {"pid", rank}, {"tid", thread}, {"name", what}, {"args", args}};
    text += line.dump() + '\n';
  };
  add("process_name", 0, {{"name", name}});
  add("process_sort_index", 0, {{"sort_index", rank}});
  add("thread_name", 0, {{"name", "busy with"}});
  for (int lane = 1; events.find(fmt::format(R"("tid":{},)", lane)) != std::string::npos; ++lane)
    add("thread_name", lane, {{"name", fmt::format("under way {}", lane)}});
  return text;
}

}  // namespace

std::string chrome_events(const Recorder& recorder, const Arrivals& arrivals, int rank, double to_origin_s) {
  return Writer(recorder, arrivals, rank, to_origin_s).write();
}

void write_chrome_trace(std::ostream& out, const std::vector<std::string>& rank_events,
                        const std::vector<std::string>& rank_names) {
  out << "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n";
  const char* separator = "";
  for (std::size_t rank = 0; rank < rank_events.size(); ++rank) {
    const std::string text =
        metadata(static_cast<int>(rank), rank_names[rank], rank_events[rank]) + rank_events[rank];
    for (std::size_t begin = 0, end; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1) {
      out << separator << std::string_view(text).substr(begin, end - begin);
      separator = ",\n";
    }
  }
  out << "\n]}\n";
}

}  // namespace tessera::dist
