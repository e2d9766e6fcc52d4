// Where the time of a training step goes, read from its events; and when the link would win over compute.
//
//   mpirun -n 2 build/bin/06_where_time_goes
//
//   One step of rank 0, ms:
//     from     to  busy with   events  of it in polls
//      0.1   30.3  forward         53            0.00
//     30.3   88.3  backward        70            1.35
//     88.5   89.1  wait             2            0.01
//     89.1   90.3  optimizer        2            0.00
//     from     to  under way meanwhile
//      0.1    0.1  all_reduce of 8 bytes, loss
//     51.2   64.9  all_reduce of 794624 bytes, gradients
//     64.4   75.1  all_reduce of 793088 bytes, gradients
//     77.4   80.2  all_reduce of 793088 bytes, gradients
//     88.4   89.0  all_reduce of 989184 bytes, gradients
//     89.1   89.1  all_reduce of 8 bytes, loss
//
//   sequences per rank   compute ms   exposed   waiting   (hidden)   bytes sent   on 200 Mbit/s, ms
//                    4         86.1       2.0       4.8       18.6      3370000               134.8
//                    2         43.2       2.9       0.0       12.5      3370000               134.8
//                    1         27.9       3.7       3.4        9.5      3370000               134.8
//
//   Below 7 sequences per rank a link of 200 Mbit/s takes longer than compute.
//
//   holds: a smaller batch sends as many bytes: they are the gradients'
//   holds: it computes less: that of 4 sequences takes more than twice as long as that of 1
//   holds: a step's parts add up to it, hidden communication beside them
//
// What to change: set kBucketBytes to 8 << 20, and all gradients go at once, when backward is over: what was
// hidden becomes exposed. Let one rank sleep before its step: the others' waiting shows it, the network's
// share stays.

#include <algorithm>
#include <cmath>

#include "dist/parallel/parallelize.h"
#include "dist/trace/accountant.h"
#include "examples/lessons/lesson.h"
#include "nn/train_step.h"
#include "tensor/random.h"

namespace tessera {
namespace {

using dist::Span;
using dist::SpanKind;

constexpr Index kBucketBytes = 1 << 20;
constexpr int kSteps = 6;
constexpr double kSlowLink = 25e6;  // 200 Mbit/s

const char* phase_of(const Span& span) {
  const std::string_view name = span.name;
  if (span.kind == SpanKind::data) return "data";
  if (span.kind == SpanKind::wait) return "wait";
  if (name == "optimizer" || name == "gradient norm") return "optimizer";
  return name.ends_with("backward") || name.ends_with("gradient") ? "backward" : "forward";
}

/// A stretch of one phase, and how much of it went into starting and polling collectives.
struct Stretch {
  const char* phase;
  double begin_s, end_s, polls_s = 0;
  int ops = 0;
};

/// The last step of `spans`, outermost spans only, neighbours of one phase together.
std::vector<Stretch> stretches(std::vector<Span> spans) {
  const Span step = spans.back();
  std::ranges::stable_sort(spans, {}, &Span::begin_s);
  std::vector<Stretch> result;
  for (const Span& span : spans) {
    if (span.begin_s < step.begin_s || span.kind == SpanKind::step) continue;
    if (span.kind == SpanKind::comm) {
      if (!result.empty()) result.back().polls_s += span.seconds();
      continue;
    }
    if (!result.empty() && span.begin_s < result.back().end_s) continue;  // inside another one
    const char* phase = phase_of(span);
    if (result.empty() || result.back().phase != phase) result.push_back({phase, span.begin_s, span.end_s});
    result.back().end_s = span.end_s;
    ++result.back().ops;
  }
  return result;
}

void tell_step(const Lesson& l, const dist::Recorder& events) {
  const double begin_s = events.spans().back().begin_s;
  const auto ms = [&](double time_s) { return (time_s - begin_s) * 1e3; };
  l.say("One step of rank 0, ms:\n  from     to  busy with   events  of it in polls\n");
  for (const Stretch& s : stretches(events.spans()))
    l.say("{:6.1f} {:6.1f}  {:<10} {:7}  {:14.2f}\n", ms(s.begin_s), ms(s.end_s), s.phase, s.ops,
          s.polls_s * 1e3);
  l.say("  from     to  under way meanwhile\n");
  for (const dist::Operation& operation : events.operations())
    if (operation.begin_s >= begin_s)
      l.say("{:6.1f} {:6.1f}  {} of {} bytes, {}\n", ms(operation.begin_s), ms(operation.end_s),
            operation.name, operation.bytes, operation.channel->purpose);
  l.say("\n");
}

nn::Batch random_batch(const nn::ModelConfig& config, Index sequences, int rank) {
  const RandomStream stream(static_cast<std::uint64_t>(rank), "tokens");
  std::vector<std::int32_t> tokens;
  for (Index i = 0; i < sequences * config.context; ++i)
    tokens.push_back(static_cast<std::int32_t>(stream.below(i, config.vocab)));
  return nn::make_batch(tokens, tokens, config.context);
}

double sum_of(const dist::StepParts& p) {
  return p.compute_s + p.exposed_comm_s + p.wait_s + p.bubble_s + p.optimizer_s + p.data_s + p.other_s;
}

/// What a step takes with some number of sequences per rank, and the bytes that a rank sends in it.
struct Cost {
  dist::StepParts parts;
  double bytes = 0;
  bool adds_up = true;
};

Cost cost(const Lesson& l, nn::Transformer& model, const dist::Parallel& parallel, Index sequences) {
  nn::Optimizer optimizer(model.parameters(), {});
  const nn::Batch batch = random_batch(model.config(), sequences, l.world().rank());
  dist::Accountant accountant(l.world());
  for (int step = 0; step < kSteps; ++step) {
    const dist::SpanScope span(accountant.recorder(), SpanKind::step, "step", step);
    nn::train_step(model, optimizer, batch, {.lr = 1e-3, .clip = 1, .step = step}, parallel.exchange);
  }
  if (sequences == 4) tell_step(l, *accountant.recorder());
  accountant.settle();
  Cost result{.parts = dist::median_parts(accountant.steps())};
  for (const dist::StepAccount& step : accountant.steps())
    result.adds_up = result.adds_up && std::abs(sum_of(step.parts) - step.parts.step_s) < 1e-9;
  for (const dist::CommAccount& a : accountant.comm()) result.bytes += static_cast<double>(a.bytes) / kSteps;
  return result;
}

void lesson(Lesson& l) {
  const dist::Mesh mesh(l.world(), {});
  nn::Transformer model(nn::find_model("gpt-nano"));
  const dist::Parallel parallel = dist::parallelize(model, mesh, {.bucket_bytes = kBucketBytes});
  std::vector<Cost> costs;
  for (const Index sequences : {4, 2, 1}) costs.push_back(cost(l, model, parallel, sequences));

  l.say("sequences per rank   compute ms   exposed   waiting   (hidden)   bytes sent   on 200 Mbit/s, ms\n");
  for (std::size_t i = 0; i < costs.size(); ++i) {
    const auto& [parts, bytes, adds_up] = costs[i];
    l.say("{:18} {:12.1f} {:9.1f} {:9.1f} {:10.1f} {:12.0f} {:19.1f}\n", 4 >> i, parts.compute_s * 1e3,
          parts.exposed_comm_s * 1e3, parts.wait_s * 1e3, parts.hidden_comm_s * 1e3, bytes,
          bytes / kSlowLink * 1e3);
  }
  // What a sequence costs, without what a step costs whatever its batch.
  const double sequence_s = (costs[0].parts.compute_s - costs[2].parts.compute_s) / 3;
  if (l.world().size() > 1)
    l.say("\nBelow {:.0f} sequences per rank a link of 200 Mbit/s takes longer than compute.\n",
          costs[0].bytes / kSlowLink / sequence_s);
  l.say("\n");

  l.claim("a smaller batch sends as many bytes: they are the gradients'",
          costs[0].bytes == costs[1].bytes && costs[1].bytes == costs[2].bytes);
  l.claim("it computes less: that of 4 sequences takes more than twice as long as that of 1",
          costs[0].parts.compute_s > 2 * costs[2].parts.compute_s);
  l.claim("a step's parts add up to it, hidden communication beside them",
          std::ranges::all_of(costs, &Cost::adds_up));
}

}  // namespace
}  // namespace tessera

int main(int argc, char** argv) {
  return tessera::run_lesson(argc, argv, "06_where_time_goes",
                             "A step is compute, communication and waiting.", tessera::lesson);
}
