#pragma once

#include <string>

#include "dist/plan/simulate.h"

/// Closed forms of what simulate() counts; tests hold them equal. F, B, W: a microbatch's forward, gradient
/// of the input and gradient of the weights on one rank; p ranks, m microbatches, v chunks.
namespace tessera::plan {

/// Idle time over busy time of a rank.
///
/// gpipe, 1f1b: (p-1)/m. interleaved: (p-1)/(vm). zb-h1, zb-h2: (p-1)(F+B-W), (p-1)(F+B-2W) over m(F+B+W),
/// not below 0; exact at F = B = W and m >= 2p - 1. For the zero-bubble ones it is a rank's own idle time:
/// the ranks still start one after the other, so that the makespan is longer. Sources: arXiv:2104.04473, 2.2;
/// arXiv:2401.10241, Table 1.
double bubble_over_ideal(const std::string& schedule, double p, double m, double v, const PassTimes& times);

/// What all ranks together take, m(F+B+W) and the makespan's idle time; a zero-bubble schedule's is (p-1)F at
/// least.
double pipeline_seconds(const std::string& schedule, double p, double m, double v, const PassTimes& times);

/// Microbatches whose activations rank `rank` holds at most.
///
/// gpipe: m. 1f1b: min(m, p - rank). interleaved: 1 + (p-1)/(pv) times p on rank 0. zb-h1: p; zb-h2: 2p - 1.
double in_flight(const std::string& schedule, double p, double m, double v, double rank);

}  // namespace tessera::plan
