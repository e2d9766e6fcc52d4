// Blocked attention against the T x T matrix it never makes, at lengths on both sides of block boundaries.

#include <gtest/gtest.h>

#include "tensor/ops.h"
#include "tests/tensor/gradcheck.h"

namespace tessera {
namespace {

using namespace testing;

struct Heads {
  Index heads, kv_heads, dim;
};

/// softmax(q k^T / sqrt(D) + causal mask) v, one query after the other, in f64.
Tensor naive_attention(const Tensor& q, const Tensor& k, const Tensor& v, Heads h) {
  const Index sequences = q.dim(0), length = q.dim(1);
  const Tensor out = Tensor::zeros(q.shape(), DType::f64);
  const auto at = [&](const Tensor& x, Index b, Index t, Index head, Index num_heads) {
    return x.data<double>() + ((b * length + t) * num_heads + head) * h.dim;
  };
  for (Index b = 0; b < sequences; ++b) {
    for (Index head = 0; head < h.heads; ++head) {
      const Index kv_head = head / (h.heads / h.kv_heads);
      for (Index t = 0; t < length; ++t) {
        const double* q_d = at(q, b, t, head, h.heads);
        std::vector<double> p_s(static_cast<std::size_t>(t + 1));
        for (Index s = 0; s <= t; ++s)
          p_s[s] =
              std::inner_product(q_d, q_d + h.dim, at(k, b, s, kv_head, h.kv_heads), 0.0) / std::sqrt(h.dim);
        const double largest = *std::ranges::max_element(p_s);
        for (double& p : p_s) p = std::exp(p - largest);
        const double total = std::accumulate(p_s.begin(), p_s.end(), 0.0);
        for (Index s = 0; s <= t; ++s)
          for (Index d = 0; d < h.dim; ++d)
            at(out, b, t, head, h.heads)[d] += p_s[s] / total * at(v, b, s, kv_head, h.kv_heads)[d];
      }
    }
  }
  return out;
}

std::vector<Tensor> inputs(Index sequences, Index length, Heads h, DType dtype, double scale = 1) {
  const Shape q = {sequences, length, h.heads * h.dim}, kv = {sequences, length, h.kv_heads * h.dim};
  std::vector<Tensor> result = leaves({q, kv, kv}, dtype);
  dispatch(dtype, [&]<class T>() {
    for (T& value : result[0].span<T>()) value *= static_cast<T>(scale);
  });
  return result;
}

Tensor attend(const std::vector<Tensor>& in, Heads h) { return attention(in[0], in[1], in[2], h.dim); }
Tensor oracle(const std::vector<Tensor>& in, Heads h) {
  return naive_attention(to(DType::f64, in[0]), to(DType::f64, in[1]), to(DType::f64, in[2]), h);
}

struct Length {
  Index length;
  Index every;  ///< differences are taken of every so-many-th element: primes, so each channel has its turn
};
void PrintTo(const Length& length, std::ostream* out) { *out << length.length; }

class AttentionOfLength : public ::testing::TestWithParam<Length> {
 protected:
  const Index length_ = GetParam().length;
};
INSTANTIATE_TEST_SUITE_P(Attention, AttentionOfLength,
                         ::testing::Values(Length{1, 1}, Length{5, 1}, Length{64, 37}, Length{65, 37},
                                           Length{130, 71}, Length{200, 101}, Length{530, 401}),
                         [](const auto& length) { return std::to_string(length.param.length); });

// One key-value head each, grouped, all on one.
constexpr Heads kShapes[] = {{2, 2, 8}, {4, 2, 16}, {3, 1, 5}};

// Errors of a softmax-weighted mean do not grow with its length: a few roundings of each dtype.
TEST_P(AttentionOfLength, MatchesNaive) {
  for (const Heads h : kShapes) {
    const auto narrow = inputs(2, length_, h, DType::f32), wide = inputs(2, length_, h, DType::f64);
    const Tensor expected = oracle(wide, h);
    EXPECT_LE(relative_error(attend(wide, h), expected), 32 * 0x1p-53);
    EXPECT_LE(relative_error(attend(narrow, h), expected), 32 * 0x1p-24);
  }
}

TEST_P(AttentionOfLength, GradientMatchesDifferences) {
  if (length_ == 1) GTEST_SKIP() << "q and k have gradient zero but for rounding, see OnePositionIsItsValue";
  const Heads h = {3, 1, 5};
  const auto f = [&](const std::vector<Tensor>& in) { return attend(in, h); };
  EXPECT_LE(gradient_error(f, inputs(1, length_, h, DType::f64), GetParam().every), kGradcheckBound);
}

// The gradient of f32 against that of f64, which the test above ties to differences.
TEST_P(AttentionOfLength, FloatGradientAgreesWithDouble) {
  const Heads h = {4, 2, 16};
  auto narrow = inputs(2, length_, h, DType::f32), wide = inputs(2, length_, h, DType::f64);
  for (auto* in : {&narrow, &wide}) {
    const Tensor y = attend(*in, h);
    backward(y, output_weights(y));
  }
  for (const std::size_t i : {0, 1, 2}) {
    if (length_ == 1 && i < 2) continue;  // zero but for rounding
    EXPECT_LE(relative_error(narrow[i].grad(), wide[i].grad()), 64 * 0x1p-24) << "input " << i;
  }
}

// A query with one key: its weight is 1 whatever the logit, so y = v, and q and k matter only by rounding.
TEST(Attention, OnePositionIsItsValue) {
  const Heads h = {2, 2, 8};
  const auto in = inputs(3, 1, h, DType::f64);
  const Tensor y = attend(in, h), dy = output_weights(y);
  backward(y, dy);
  EXPECT_TRUE(bit_equal(y.detach(), in[2].detach()));
  EXPECT_LE(relative_error(in[2].grad(), dy), 0x1p-52);
  EXPECT_LE(max_abs(in[0].grad()), 0x1p-48);
  EXPECT_LE(max_abs(in[1].grad()), 0x1p-48);
}

// Logits near 500: exp of them overflows, their rounding moves the weights by 500 * 2^-24 or so.
TEST(Attention, LargeLogitsDoNotOverflow) {
  const Heads h = {3, 1, 5};
  const auto narrow = inputs(1, 130, h, DType::f32, 100), wide = inputs(1, 130, h, DType::f64, 100);
  EXPECT_LE(relative_error(attend(wide, h), oracle(wide, h)), 1000 * 0x1p-53);
  const Tensor y = attend(narrow, h);
  EXPECT_LE(relative_error(y, oracle(narrow, h)), 1000 * 0x1p-24);
  backward(y, output_weights(y));
  for (const Tensor& x : narrow) EXPECT_TRUE(std::isfinite(max_abs(x.grad())));
}

/// Positions [begin, end) of one sequence.
Tensor positions(const Tensor& x, Index begin, Index end) {
  return x.view({x.dim(1), x.dim(2)}).slice(begin, end).view({1, end - begin, x.dim(2)});
}

/// Attention over all keys from its halves: outputs are weighted by exp(lse - total lse). [1, T, heads * D].
AttentionOut merge(const AttentionOut& a, const AttentionOut& b, Heads h) {
  const AttentionOut whole = {Tensor(a.out.shape(), DType::f64), Tensor(a.lse.shape(), DType::f64)};
  for (Index i = 0; i < whole.lse.numel(); ++i) {
    const double a_lse = a.lse.data<double>()[i], b_lse = b.lse.data<double>()[i];
    const double lse = std::max(a_lse, b_lse) + std::log1p(std::exp(-std::abs(a_lse - b_lse)));
    whole.lse.data<double>()[i] = lse;
    const Index length = a.out.dim(1), first = (i % length * h.heads + i / length) * h.dim;
    for (Index d = first; d < first + h.dim; ++d) {
      whole.out.data<double>()[d] =
          std::exp(a_lse - lse) * a.out.data<double>()[d] + std::exp(b_lse - lse) * b.out.data<double>()[d];
    }
  }
  return whole;
}

/// Some of the keys, and which of them queries see.
struct Part {
  Tensor k, v;
  Index diagonal;
};

// Ring attention's arithmetic: the whole is merged from parts of the keys, and with the whole's out and lse
// each part gives its share of the gradients. The first queries see no key of the later part.
TEST(Attention, PartsMergeToTheWhole) {
  const Heads h = {3, 1, 5};
  const Index length = 130;
  for (const Index cut : {1, 63, 70, 128}) {
    const auto in = inputs(1, length, h, DType::f64);
    const Tensor q = in[0].detach(), y = attend(in, h), dy = output_weights(y);
    backward(y, dy);
    const Part early = {positions(in[1], 0, cut), positions(in[2], 0, cut), 0};
    const Part late = {positions(in[1], cut, length), positions(in[2], cut, length), -cut};
    const auto attend_to = [&](const Part& p) { return attention_forward(q, p.k, p.v, h.dim, p.diagonal); };
    const AttentionOut whole = merge(attend_to(early), attend_to(late), h);
    EXPECT_LE(relative_error(whole.out, y), 1e-14) << "cut at " << cut;

    const Tensor dq = Tensor::zeros(q.shape(), DType::f64);
    for (const auto& [k, v, diagonal] : {early, late}) {
      const AttentionGrads grads = attention_backward(dy, q, k, v, whole, h.dim, diagonal);
      add_into(dq, grads.dq);
      const Index begin = -diagonal, end = begin + k.dim(1);
      EXPECT_LE(relative_error(grads.dk, positions(in[1].grad(), begin, end)), 1e-13) << "cut at " << cut;
      EXPECT_LE(relative_error(grads.dv, positions(in[2].grad(), begin, end)), 1e-13) << "cut at " << cut;
    }
    EXPECT_LE(relative_error(dq, in[0].grad()), 1e-13) << "cut at " << cut;
  }
}

// A query before all keys gets 0 and weight 0; one after all of them sees them all.
TEST(Attention, QueriesBeforeAndAfterAllKeys) {
  const Heads h = {2, 2, 4};
  const auto in = inputs(1, 66, h, DType::f64);
  const auto [none, none_lse] = attention_forward(in[0], in[1], in[2], h.dim, -66);
  EXPECT_EQ(max_abs(none), 0);
  for (const double lse : none_lse.span<double>()) EXPECT_EQ(lse, -std::numeric_limits<double>::infinity());

  const Tensor last = positions(in[0], 65, 66);
  const Tensor all = attention_forward(last, in[1], in[2], h.dim, 66).out;
  EXPECT_LE(relative_error(all, positions(oracle(in, h), 65, 66)), 1e-14);
}

// What later keys and values hold reaches no earlier query: not by a bit, in the same block or another.
TEST(Attention, IsCausal) {
  const Heads h = {3, 1, 5};
  const auto in = inputs(1, 130, h, DType::f64), other = inputs(1, 130, h, DType::f64);
  for (const std::size_t i : {1, 2}) other[i].view({130, 5}).slice(70, 130).fill(1000);
  const Tensor y = attend(in, h).view({130, 15}), z = attend(other, h).view({130, 15});
  EXPECT_TRUE(bit_equal(y.slice(0, 70), z.slice(0, 70)));
  EXPECT_FALSE(bit_equal(y.slice(70, 130), z.slice(70, 130)));
}

}  // namespace
}  // namespace tessera
