#pragma once

// What tests of strategies share: a tiny model of odd sizes, and whether a layout of it equals one rank.

#include "dist/plan/rounds.h"
#include "examples/equality.h"
#include "tensor/random.h"
#include "tests/dist/mpi_test.h"
#include "tests/nn/tiny_model.h"

namespace tessera::dist {

/// Odd sizes on purpose, 5 layers: rows seldom divide by ranks, and some ranks own none.
inline nn::ModelConfig tiny(bool llama) {
  nn::ModelConfig config = testing::tiny_model(llama, 0.1);
  config.layers = 5;
  return config;
}

inline const Verifier& verifier(bool llama) {
  static const Verifier of_gpt({.config = tiny(false)}, world()), of_llama({.config = tiny(true)}, world());
  return llama ? of_llama : of_gpt;
}

/// EQ, BIT for replicas, and sharded as asked for. @param layout without dp
inline void expect_equal(bool llama, const std::string& layout, const EqualityOptions& options = {}) {
  const Verdict verdict = verifier(llama).verify(parse_layout(layout), options);
  EXPECT_TRUE(verdict.pass()) << (llama ? "llama " : "gpt ") << to_string(options.dtype) << ' ' << layout
                              << ": error " << verdict.errors.worst() << ", bound " << verdict.bound
                              << ", worst in " << verdict.errors.worst_parameter << "; initial weights "
                              << verdict.errors.initial_weights_equal << ", replicas "
                              << verdict.replicas_equal << "; " << verdict.problem;
}

/// Bit-equal gradients, weights, losses and norms.
inline bool bit_equal_traces(const Trace& a, const Trace& b) {
  bool same = a.losses == b.losses && a.norms == b.norms;
  for (std::size_t i = 0; i < a.grads.size(); ++i)
    same = same && same_bits(a.grads[i], b.grads[i]) && same_bits(a.updated[i], b.updated[i]);
  return same;
}

inline Trace trace_of(bool llama, const std::string& layout, const EqualityOptions& options = {}) {
  return run_layout({.config = tiny(llama)}, parse_layout(layout), options, world()).trace;
}

/// 4 sequences with 5, 0, 2 and 1 targets, other tokens at each step.
inline nn::Batch global_batch(Index step) {
  constexpr Index kContext = 5, kVocab = 37, kBatch = 4;
  static constexpr Index kTargets[kBatch] = {5, 0, 2, 1};
  const RandomStream stream(3, "tokens", static_cast<std::uint64_t>(step));
  std::vector<std::int32_t> tokens, targets;
  for (Index i = 0; i < kBatch * kContext; ++i) {
    tokens.push_back(static_cast<std::int32_t>(stream.below(2 * i, kVocab)));
    const bool counts = i % kContext < kTargets[i / kContext];
    targets.push_back(counts ? static_cast<std::int32_t>(stream.below(2 * i + 1, kVocab)) : nn::kIgnore);
  }
  return nn::make_batch(tokens, targets, kContext);
}
inline nn::Batch my_share(const nn::Batch& batch) {
  const plan::Range share = plan::share(batch.num_sequences(), world().size(), world().rank());
  return nn::slice(batch, share.begin, share.end());
}

}  // namespace tessera::dist
