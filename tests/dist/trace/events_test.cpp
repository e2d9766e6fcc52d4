#include "dist/trace/events.h"

#include <gtest/gtest.h>

namespace tessera::dist {
namespace {

TEST(Recorder, SpansNestAndEndInOrder) {
  Recorder recorder;
  {
    const SpanScope step(&recorder, SpanKind::step, "step", 3);
    { const SpanScope data(&recorder, SpanKind::data, "batch"); }
    SpanScope poll(&recorder, SpanKind::comm, "poll");
    poll.rename("progress");
  }
  const std::vector<Span>& spans = recorder.spans();
  ASSERT_EQ(spans.size(), 3U);
  EXPECT_STREQ(spans[0].name, "batch");
  EXPECT_STREQ(spans[1].name, "progress");
  EXPECT_EQ(spans[2].number, 3);
  EXPECT_LE(spans[0].end_s, spans[1].begin_s);
  for (const Span& span : spans) {
    EXPECT_LE(spans[2].begin_s, span.begin_s);
    EXPECT_LE(span.begin_s, span.end_s);
    EXPECT_LE(span.end_s, spans[2].end_s);
  }
}

TEST(Recorder, ClearKeepsMemory) {
  Recorder recorder(8);
  for (int i = 0; i < 100; ++i) const SpanScope scope(&recorder, SpanKind::op, "op");
  const Span* memory = recorder.spans().data();
  recorder.clear();
  EXPECT_TRUE(recorder.spans().empty());
  for (int i = 0; i < 100; ++i) const SpanScope scope(&recorder, SpanKind::op, "op");
  EXPECT_EQ(recorder.spans().data(), memory);
}

TEST(Recorder, NumbersMessagesByChannelPeersAndTag) {
  Recorder recorder;
  const Channel a{.axis = "pp", .key = 1}, b{.axis = "pp", .key = 2};
  EXPECT_EQ(recorder.next_order(a, 0, 1, 5), 0);
  EXPECT_EQ(recorder.next_order(a, 0, 1, 5), 1);
  EXPECT_EQ(recorder.next_order(a, 1, 0, 5), 0);
  EXPECT_EQ(recorder.next_order(a, 0, 1, 6), 0);
  EXPECT_EQ(recorder.next_order(b, 0, 1, 5), 0);
  recorder.clear();
  EXPECT_EQ(recorder.next_order(a, 0, 1, 5), 2) << "the other rank may not have cleared yet";
}

TEST(Recorder, OffIsNothing) { const SpanScope scope(nullptr, SpanKind::op, "op"); }

}  // namespace
}  // namespace tessera::dist
