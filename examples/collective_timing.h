#pragma once

#include <functional>
#include <string>
#include <vector>

#include "dist/comm/collectives.h"

namespace tessera {

/// One way to do a collective: an algorithm, or a yardstick.
struct Contender {
  std::string name;
  std::function<void()> call;
};

/// Seconds of a call; see time_calls.
struct CallTimes {
  double best_s = 0, median_s = 0;
  double mean_s = 0;  ///< of a round, and of those the median
};

struct TimingOptions {
  int calls = 0;  ///< in a round; 0: as many as fit into a tenth of a second, 2 to 200
  int rounds = 5;
};

/// Times contenders against each other on one machine, whose speed drifts: in each round, all take their
/// turn.
///
/// A rank makes its calls of a turn back to back. If `in_step`, a barrier comes before each, since in a
/// collective with a root some ranks may run ahead; a call then takes as long as on the slowest rank, else as
/// on average. Collective; the same on all ranks.
std::vector<CallTimes> time_calls(const dist::Comm& comm, const std::vector<Contender>& contenders,
                                  bool in_step, const TimingOptions& options);

/// Message sizes and the seconds that one takes, one way: half of a ping-pong.
struct MessageTimes {
  std::vector<double> bytes, seconds;

  double best_bandwidth() const;
};

/// What messages cost, between rank 0 and `peer`, and what adding does. Collective.
MessageTimes time_messages(const dist::Comm& comm, int peer);
/// alpha and beta of a line through the times, each weighed by its own size; the third is measured by
/// messages that follow each other. Collective.
plan::LinkPrice fit_link(const dist::Comm& comm, int peer, const MessageTimes& times);
/// Seconds per byte of a sum in memory.
double time_add();

}  // namespace tessera
