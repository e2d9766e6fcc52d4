#include "nn/generate.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "tensor/context.h"

namespace tessera::nn {
namespace {

void check_options(const SamplingOptions& options, const std::vector<std::int32_t>& prompt, Index vocab) {
  check(!prompt.empty(), "generate", "the prompt is empty, expected at least one token");
  for (const std::int32_t token : prompt) {
    check(token >= 0 && token < vocab, "generate", "token ", token, " is outside the vocabulary of ", vocab);
  }
  check(options.tokens >= 0, "generate", "tokens is ", options.tokens, ", expected 0 or more");
  check(options.temperature >= 0, "generate", "temperature is ", options.temperature, ", expected 0 or more");
  check(options.top_k >= 0, "generate", "top-k is ", options.top_k, ", expected 0 (all) or more");
}

/// The logits of the token after `window`, in double.
std::vector<double> next_logits(Transformer& model, const std::vector<std::int32_t>& window) {
  const auto length = static_cast<Index>(window.size());
  const Batch batch = make_batch(window, std::vector<std::int32_t>(window.size(), kIgnore), length);
  const Tensor hidden = model.hidden({batch});
  const Tensor last = hidden.view({length, hidden.cols()}).slice(length - 1, length);
  const Tensor logits = model.head.logits(last, model.head.weight->value);
  return dispatch(logits.dtype(), [&]<class T>() {
    const auto values = logits.span<T>();
    return std::vector<double>(values.begin(), values.end());
  });
}

/// Draws from softmax(logits / temperature) over the top k, by one uniform number.
std::int32_t sample(const std::vector<double>& logits, const SamplingOptions& options, double uniform) {
  std::vector<std::int32_t> order(logits.size());
  std::iota(order.begin(), order.end(), 0);
  const auto likelier = [&](std::int32_t a, std::int32_t b) {
    return logits[static_cast<std::size_t>(a)] > logits[static_cast<std::size_t>(b)];
  };
  std::ranges::stable_sort(order, likelier);
  if (options.temperature == 0) return order[0];
  if (options.top_k > 0) order.resize(std::min(order.size(), static_cast<std::size_t>(options.top_k)));

  std::vector<double> cumulative;
  double total = 0;
  const double largest = logits[static_cast<std::size_t>(order[0])];
  for (const std::int32_t token : order) {
    total += std::exp((logits[static_cast<std::size_t>(token)] - largest) / options.temperature);
    cumulative.push_back(total);
  }
  const auto chosen = std::ranges::upper_bound(cumulative, uniform * total) - cumulative.begin();
  return order[std::min(static_cast<std::size_t>(chosen), order.size() - 1)];
}

}  // namespace

void generate(Transformer& model, std::vector<std::int32_t> prompt, const SamplingOptions& options,
              const std::function<void(std::int32_t)>& emit) {
  check_options(options, prompt, model.config().vocab);
  const NoGrad no_grad;
  const RandomStream stream(options.seed, "generate");
  const auto context_size = static_cast<std::size_t>(model.config().context);
  for (Index i = 0; i < options.tokens; ++i) {
    if (prompt.size() > context_size)
      prompt.erase(prompt.begin(), prompt.end() - static_cast<Index>(context_size));
    prompt.push_back(sample(next_logits(model, prompt), options, stream.uniform(i)));
    emit(prompt.back());
  }
}

}  // namespace tessera::nn
