#pragma once

#include <algorithm>
#include <exception>

#include "tensor/context.h"

namespace tessera {

/// Cores this process may run on (its affinity mask).
int available_cores();

/// The number of this thread in the team that shares a kernel, below context().threads: which scratch row is
/// its own.
int current_thread();

/// Calls body(begin, end) on pieces of [0, rows), at most `piece` rows long, shared among the context's
/// threads; ticks between pieces. Pieces must not depend on each other. An exception of any thread is thrown
/// again here.
template <class Body>
void parallel_pieces(Index rows, Index piece, Body&& body) {
  const Index pieces = (rows + piece - 1) / piece;
  const auto run = [&](Index i) { body(i * piece, std::min(rows, (i + 1) * piece)); };
  const int threads = static_cast<int>(std::min<Index>(context().threads, pieces));
  if (threads <= 1) {
    for (Index i = 0; i < pieces; ++i) {
      run(i);
      if (i + 1 < pieces) tick();
    }
    return;
  }
  std::exception_ptr error;
  Index taken = 1;
  const auto take = [&] {
    Index i;
#pragma omp atomic capture
    i = taken++;
    return i;
  };
#pragma omp parallel num_threads(threads)
  {
    // Contexts are per thread, so of this team only its master, the caller, has someone to tick. The first
    // piece is kept for it: a caller that comes late would else find none left, and not tick at all.
    for (Index i = current_thread() == 0 ? 0 : take(); i < pieces; i = take()) {
      try {
        run(i);
        tick();
      } catch (...) {
#pragma omp critical
        error = std::current_exception();
      }
    }
  }
  if (error) std::rethrow_exception(error);
}

/// Rows of a row op whose every element costs `ns` nanoseconds or so, cut so that a piece stays under 4 ms
/// and, where there are threads, each gets one: a rule of shape and threads alone.
template <class Body>
void parallel_rows(Index rows, Index cols, double ns, Body&& body) {
  const double row_ns = std::max(1.0, ns * static_cast<double>(std::max<Index>(cols, 1)));
  const Index longest = std::max<Index>(1, static_cast<Index>(4e6 / row_ns));
  const Index threads =
      static_cast<double>(rows) * row_ns < 2e4 ? 1 : context().threads;  // a team costs 5 us or so
  parallel_pieces(rows, std::clamp<Index>((rows + threads - 1) / threads, 1, longest), body);
}

}  // namespace tessera
