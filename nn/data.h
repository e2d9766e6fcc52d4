#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "nn/batch.h"

namespace tessera::nn {

/// Tokens of a text, its tail held out for validation. A training batch is a pure function of (seed, step).
class Dataset {
 public:
  /// Bytes as tokens, vocabulary 256. The last `held_out` of them (a fraction) are for validation.
  /// @throws std::invalid_argument if either part is shorter than context + 1 tokens, naming `source` and
  /// both lengths.
  static Dataset from_bytes(std::string_view bytes, const std::string& source, Index context,
                            double held_out = 0.1);
  /// A text file's bytes, or, if its name ends in ".u16", little-endian 16-bit tokens, each below `vocab`.
  /// @throws std::invalid_argument for a missing, unreadable, empty or too short file, an odd length, a token
  /// at or above
  ///         `vocab` (naming its offset); bytes need vocab >= 256.
  static Dataset from_file(const std::string& path, Index context, Index vocab, double held_out = 0.1);

  /// `count` sequences from `first` on of the `batch_size` sequences of step `step`: each a window at a
  /// random place.
  Batch batch(std::uint64_t seed, Index step, Index batch_size, Index first, Index count) const;
  Batch batch(std::uint64_t seed, Index step, Index batch_size) const {
    return batch(seed, step, batch_size, 0, batch_size);
  }

  /// Windows that follow each other through the held-out tail; the last one's missing targets are ignored.
  Index num_validation_sequences() const;
  /// Sequences [first, first + count) of them, numbered from 0.
  Batch validation(Index first, Index count) const;

  Index num_train_tokens() const { return static_cast<Index>(train_.size()); }
  Index num_validation_tokens() const { return static_cast<Index>(validation_.size()); }

 private:
  Dataset(std::vector<std::uint16_t> tokens, const std::string& source, Index context, double held_out);
  std::vector<std::uint16_t> train_, validation_;
  Index context_ = 0;
};

}  // namespace tessera::nn
