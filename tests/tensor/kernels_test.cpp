// What kernels share: products of matrices, listeners that change no bits, threads that agree.

#include <gtest/gtest.h>

#include "tensor/blas.h"
#include "tests/tensor/op_table.h"

namespace tessera {
namespace {

using namespace testing;

/// A random matrix of rows x cols, or cols x rows if transposed, three columns further apart than it needs.
template <class T>
struct Operand {
  Operand(Index rows, Index cols, bool transposed, std::string_view name)
      : memory(normal({transposed ? cols : rows, (transposed ? rows : cols) + 3}, name, 1, dtype_of<T>())),
        matrix{memory.data<T>(), memory.cols(), transposed} {}
  double at(Index i, Index j) const {
    return static_cast<double>(matrix.transposed ? matrix.data[j * matrix.stride + i]
                                                 : matrix.data[i * matrix.stride + j]);
  }
  Tensor memory;
  Matrix<const T> matrix;
};

template <class T>
void expect_naive_product(Index m, Index n, Index k, bool a_transposed, bool b_transposed, T beta) {
  const Operand<T> a(m, k, a_transposed, "a"), b(k, n, b_transposed, "b"), before(m, n, false, "c");
  Operand<T> c(m, n, false, "c");
  T* out = c.memory.template data<T>();
  if (beta == 0)
    for (Index i = 0; i < m; ++i) std::fill_n(out + i * (n + 3), n, std::numeric_limits<T>::quiet_NaN());
  gemm<T>(m, n, k, T(0.5), a.matrix, b.matrix, beta, {out, n + 3});

  const double bound = static_cast<double>(k + 2) * std::numeric_limits<T>::epsilon();
  for (Index i = 0; i < m; ++i) {
    for (Index j = 0; j < n; ++j) {
      double sum = 0, size = 1;
      for (Index l = 0; l < k; ++l) sum += a.at(i, l) * b.at(l, j), size += std::abs(a.at(i, l) * b.at(l, j));
      const double kept = beta == 0 ? 0 : static_cast<double>(beta) * before.at(i, j);
      ASSERT_NEAR(c.at(i, j), 0.5 * sum + kept, bound * (size + std::abs(kept))) << m << ' ' << n << ' ' << k;
    }
    for (Index j = n; j < n + 3; ++j) ASSERT_EQ(c.at(i, j), before.at(i, j)) << "beyond the row";
  }
}

TEST(Gemm, MatchesNaive) {
  for (const Index m : {0, 1, 5, 37})
    for (const Index n : {0, 1, 7, 64})
      for (const Index k : {0, 1, 3, 70})
        for (const bool a_transposed : {false, true})
          for (const bool b_transposed : {false, true})
            for (const int beta : {0, 1, -2}) {
              expect_naive_product<float>(m, n, k, a_transposed, b_transposed, static_cast<float>(beta));
              expect_naive_product<double>(m, n, k, a_transposed, b_transposed, beta);
            }
}

// 1.6 MFLOP are enough for each thread to get its panel.
TEST(ParallelGemm, MatchesOneCall) {
  const Index m = 200, n = 64, k = 63;
  for (const bool a_transposed : {false, true}) {
    for (const bool b_transposed : {false, true}) {
      const Operand<double> a(m, k, a_transposed, "a"), b(k, n, b_transposed, "b");
      const auto product = [&](int threads) {
        const Scoped<int> scope(context().threads, threads);
        const Tensor c = normal({m, n}, "c");
        parallel_gemm<double>(m, n, k, 1, a.matrix, b.matrix, 1, {c.data<double>(), n});
        return c;
      };
      const Tensor expected = normal({m, n}, "c");
      gemm<double>(m, n, k, 1, a.matrix, b.matrix, 1, {expected.data<double>(), n});
      for (const int threads : {1, 2, 3})
        EXPECT_LE(relative_error(product(threads), expected), 1e-14) << threads;
    }
  }
}

/// Counts ticks, and checks that every op which begins also ends, the inner ones first.
struct Listener {
  Listener() {
    observer.begin = [this](const OpInfo& info) { open.push_back(info); };
    observer.end = [this](const OpInfo& info) {
      ASSERT_FALSE(open.empty());
      EXPECT_STREQ(info.name, open.back().name);
      done.push_back(info);
      open.pop_back();
    };
    observer.tick = [this] { ++ticks; };
  }
  OpObserver observer;
  std::vector<OpInfo> open, done;
  int ticks = 0;
  Scoped<const OpObserver*> scope{context().observer, &observer};
};

/// Sizes at which kernels are cut into panels and pieces.
std::vector<OpCase> large_cases() {
  using In = const std::vector<Tensor>&;
  const std::vector<std::int32_t> targets(300, 1);
  return {
      {"linear", [](In in) { return linear(in[0], in[1], in[2]); }, {{1501, 301}, {463, 301}, {463}}},
      {"attention",
       [](In in) { return attention(in[0], in[1], in[2], 16); },
       {{2, 130, 64}, {2, 130, 32}, {2, 130, 32}}},
      {"layer_norm",
       [](In in) { return layer_norm(in[0], in[1], in[2], 1e-5); },
       {{1501, 129}, {129}, {129}}},
      {"swiglu", [](In in) { return swiglu(in[0], in[1]); }, {{301, 129}, {301, 129}}},
      {"cross_entropy", [=](In in) { return cross_entropy(in[0], ints(targets)); }, {{300, 257}}},
      {"embedding", [=](In in) { return embedding(ints(targets), in[0]); }, {{37, 257}}},
  };
}

class LargeOp : public ::testing::TestWithParam<OpCase> {
 protected:
  static Result run_with(int threads, DType dtype) {
    const Scoped<int> scope(context().threads, threads);
    return run(GetParam().f, leaves(GetParam().inputs, dtype));
  }
};
INSTANTIATE_TEST_SUITE_P(Kernels, LargeOp, ::testing::ValuesIn(large_cases()),
                         [](const auto& row) { return std::string(row.param.name); });

TEST_P(LargeOp, ListeningChangesNoBits) {
  for (const int threads : {1, 2}) {
    const Result alone = run_with(threads, DType::f32);
    Listener listener;
    const Result heard = run_with(threads, DType::f32);
    EXPECT_TRUE(bit_equal(heard.y, alone.y));
    for (std::size_t i = 0; i < alone.gradients.size(); ++i)
      EXPECT_TRUE(bit_equal(heard.gradients[i], alone.gradients[i])) << "input " << i;
  }
}

// EQ: DESIGN.md, section 9.
TEST_P(LargeOp, ThreadsAgree) {
  const Result one = run_with(1, DType::f64);
  for (const int threads : {2, 3}) {
    const Result more = run_with(threads, DType::f64);
    EXPECT_LE(relative_error(more.y, one.y), 1e-11);
    for (std::size_t i = 0; i < one.gradients.size(); ++i)
      EXPECT_LE(relative_error(more.gradients[i], one.gradients[i]), 1e-11) << "input " << i;
  }
}

TEST_P(LargeOp, BeginsAndEndsInTurn) {
  Listener listener;
  run_with(1, DType::f32);
  EXPECT_TRUE(listener.open.empty());
  EXPECT_FALSE(listener.done.empty());
  for (const OpInfo& info : listener.done) {
    const std::string name = info.name;
    EXPECT_GT(info.bytes, 0) << name;
    if (name.starts_with("linear") || name.starts_with("attention")) {
      EXPECT_GT(info.flops, 0) << name;
    }
  }
}

TEST(OpObserver, CountsTheProductsOfALayer) {
  Listener listener;
  run([](const auto& in) { return linear(in[0], in[1]); }, leaves({{3, 5}, {7, 5}}));
  double flops = 0;
  for (const OpInfo& info : listener.done) flops += info.flops;
  EXPECT_EQ(flops, 3 * 2 * 3 * 5 * 7) << "forward, and as much for either gradient";
}

TEST(OpObserver, HearsTicksOfLongProducts) {
  Listener listener;
  run([](const auto& in) { return linear(in[0], in[1]); }, leaves({{840, 840}, {840, 840}}, DType::f32));
  EXPECT_EQ(listener.ticks, 3) << "between the two panels of each 1.2 GFLOP product";
}

TEST(Poll, GetsATurnBesideTheObserver) {
  Listener listener;
  int turns = 0;
  const std::function<void()> poll = [&] { ++turns; };
  const Scoped<const std::function<void()>*> polled(context().poll, &poll);
  run([](const auto& in) { return linear(in[0], in[1]); }, leaves({{600, 840}, {840, 840}}, DType::f32));
  EXPECT_EQ(turns, 2 * std::ssize(listener.done) + listener.ticks);
}

}  // namespace
}  // namespace tessera
