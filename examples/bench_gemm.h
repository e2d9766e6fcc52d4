#pragma once

#include "examples/cli.h"

namespace tessera {

/// A table of rates: for squares, and for each kind of layer of the model at this batch, the three products
/// of a linear layer.
void bench_gemm(const BenchOptions& options);

}  // namespace tessera
