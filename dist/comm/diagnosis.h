#pragma once

#include "dist/comm/comm.h"

namespace tessera::dist {

/// What to look out for while a job runs.
struct Diagnosis {
  /// Seconds without progress after which a rank says what it waits for: operation, axis, peers, and since
  /// when. One that waits then ends the job, with status 1, a second later: time for the others to say
  /// theirs. Off if 0, since a peer that computes for long is no hang.
  double watchdog_s = 0;
  /// Before a collective runs, its group compares what each of its ranks calls: operation, algorithm, count,
  /// element type, reduction, and how many collectives came before. If they differ, every rank throws
  /// std::runtime_error, which says who calls what. Costs a small all_gather per collective, which runs when
  /// all ranks have called it; changes no bit, and no counter.
  bool check_collectives = false;
};

/// Looks out on this rank from now on, for all communicators of the job.
///
/// Collective over `world`, once. A watchdog is a thread that calls no MPI, and costs the rank's own thread a
/// test per look at its messages.
/// @throws std::invalid_argument for a time below 0.
void diagnose(const Comm& world, const Diagnosis& diagnosis);

}  // namespace tessera::dist
