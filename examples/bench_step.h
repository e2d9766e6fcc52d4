#pragma once

#include "examples/cli.h"

namespace tessera {

/// Trains on random tokens (AdamW, clipping to 1) and tells the median step: speed, share of the GEMM peak
/// that is measured before and after the steps, memory and what of it was still new to the process in a late
/// step.
void bench_step(const BenchOptions& options);

}  // namespace tessera
