#include "nn/data.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "nn/file_internal.h"
#include "tensor/random.h"

namespace tessera::nn {
namespace {

constexpr const char* kOp = "data";
constexpr Index kByteVocab = 256;
using Tokens = std::vector<std::uint16_t>;

Tokens tokens_of(std::string_view bytes) {
  Tokens tokens(bytes.size());
  std::ranges::transform(bytes, tokens.begin(), [](char c) { return static_cast<unsigned char>(c); });
  return tokens;
}

Tokens read_bytes(InputFile& file) {
  std::string text(static_cast<std::size_t>(file.bytes()), '\0');
  file.read(text.data(), file.bytes());
  return tokens_of(text);
}

Tokens read_u16(InputFile& file, const std::string& path, Index vocab) {
  static_assert(std::endian::native == std::endian::little, "files are little-endian and read as they are");
  check(file.bytes() % 2 == 0, kOp, path, ": ", file.bytes(),
        " bytes, expected an even number: 16-bit tokens");
  Tokens tokens(static_cast<std::size_t>(file.bytes() / 2));
  file.read(tokens.data(), file.bytes());
  const auto bad = std::ranges::find_if(tokens, [&](std::uint16_t token) { return token >= vocab; });
  if (bad != tokens.end()) {
    check(false, kOp, path, ": token ", *bad, " at offset ", 2 * (bad - tokens.begin()),
          ", expected less than the vocabulary, ", vocab);
  }
  return tokens;
}

/// Sequences [first, first + count), number i being the window of `text` from start(i) on. Beyond the text's
/// end there are no targets; the tokens there are 0, and no position before sees them.
template <class Start>
Batch windows(const Tokens& text, Index context, Index first, Index count, Start&& start) {
  const auto size = static_cast<Index>(text.size());
  std::vector<std::int32_t> tokens, targets;
  for (Index i = first; i < first + count; ++i) {
    for (Index at = start(i), end = at + context; at < end; ++at) {
      tokens.push_back(at < size ? text[at] : 0);
      targets.push_back(at + 1 < size ? text[at + 1] : kIgnore);
    }
  }
  Batch batch = make_batch(tokens, targets, context);
  for (auto& number : batch.sequences.span<std::int32_t>()) number += static_cast<std::int32_t>(first);
  return batch;
}

}  // namespace

Dataset::Dataset(std::vector<std::uint16_t> tokens, const std::string& source, Index context, double held_out)
    : context_(context) {
  check(context > 0, kOp, "context is ", context, ", expected 1 or more");
  check(held_out >= 0 && held_out < 1, kOp, "held_out is ", held_out, ", expected a fraction in [0, 1)");
  const auto size = static_cast<Index>(tokens.size());
  const Index num_validation = std::llround(held_out * static_cast<double>(size));
  const Index num_train = size - num_validation;
  check(std::min(num_train, num_validation) > context, kOp, source, ": ", size, " tokens give ", num_train,
        " for training and ", num_validation, " for validation, expected at least ", context + 1,
        " for each: the context and one more");
  validation_.assign(tokens.begin() + num_train, tokens.end());
  tokens.resize(static_cast<std::size_t>(num_train));
  train_ = std::move(tokens);
}

Dataset Dataset::from_bytes(std::string_view bytes, const std::string& source, Index context,
                            double held_out) {
  return Dataset(tokens_of(bytes), source, context, held_out);
}

Dataset Dataset::from_file(const std::string& path, Index context, Index vocab, double held_out) {
  InputFile file(kOp, path);
  check(file.bytes() > 0, kOp, path, ": is empty");
  if (path.ends_with(".u16")) return Dataset(read_u16(file, path, vocab), path, context, held_out);
  check(vocab >= kByteVocab, kOp, path, ": its bytes are tokens below ", kByteVocab,
        " but the vocabulary is ", vocab);
  return Dataset(read_bytes(file), path, context, held_out);
}

Batch Dataset::batch(std::uint64_t seed, Index step, Index batch_size, Index first, Index count) const {
  check(step >= 0, kOp, "step ", step, ", expected 0 or more");
  check(first >= 0 && count >= 0 && first <= batch_size - count, kOp, count, " sequences from ", first,
        " on of a batch of ", batch_size);
  const RandomStream stream(seed, "data", static_cast<std::uint64_t>(step));
  return windows(train_, context_, first, count,
                 [&](Index i) { return stream.below(i, num_train_tokens() - context_); });
}

Index Dataset::num_validation_sequences() const {
  return (num_validation_tokens() - 1 + context_ - 1) / context_;
}

Batch Dataset::validation(Index first, Index count) const {
  check(first >= 0 && count >= 0 && first <= num_validation_sequences() - count, kOp, count,
        " validation sequences from ", first, " on of ", num_validation_sequences());
  return windows(validation_, context_, first, count, [&](Index i) { return i * context_; });
}

}  // namespace tessera::nn
