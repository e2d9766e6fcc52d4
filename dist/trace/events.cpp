#include "dist/trace/events.h"

#include <cassert>
#include <chrono>

namespace tessera::dist {

double now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

const char* to_string(SpanKind kind) {
  static constexpr const char* kNames[] = {"step", "data", "op", "comm", "wait"};
  return kNames[static_cast<std::size_t>(kind)];
}

Recorder::Recorder(std::size_t capacity) {
  constexpr std::size_t kDepth = 64, kSpansPerOperation = 16;
  open_.reserve(kDepth);
  spans_.reserve(capacity);
  operations_.reserve(capacity / kSpansPerOperation);
}

void Recorder::close(SpanKind kind, const char* name, double flops, std::int64_t number) {
  assert(!open_.empty());
  spans_.push_back({name, open_.back(), now_s(), flops, number, kind});
  open_.pop_back();
}

std::int64_t Recorder::begin_operation(Operation operation) {
  operation.begin_s = now_s();
  operations_.push_back(std::move(operation));
  return static_cast<std::int64_t>(operations_.size()) - 1;
}

std::int64_t Recorder::next_order(const Channel& channel, int from, int to, int tag) {
  return messages_[{channel.key, from, to, tag}]++;
}

void Recorder::clear() {
  assert(open_.empty());
  spans_.clear();
  operations_.clear();
  transfers_.clear();
}

}  // namespace tessera::dist
