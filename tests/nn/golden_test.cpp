// Our models against PyTorch's values (golden/make_golden.py): loss, every gradient, parameters after 3
// steps.

#include <gtest/gtest.h>

#include "nn/safetensors.h"
#include "nn/train_step.h"
#include "tests/tensor/gradcheck.h"

namespace tessera::nn {
namespace {

using testing::relative_error;

constexpr double kF64Bound = 1e-11;  // both runs are f64: measured 1e-15, far below what the issue allows

/// One model's reference, and the model itself in the configuration that the reference was made with.
struct Golden {
  SafeTensors file;
  ModelConfig config;

  explicit Golden(const std::string& name)
      : file(load_safetensors(TESSERA_GOLDEN_DIR "/" + name + ".safetensors")) {
    const bool llama = name == "llama";
    config = {.name = name,
              .layers = integer("layers"),
              .dim = integer("dim"),
              .heads = integer("heads"),
              .kv_heads = integer("kv_heads"),
              .ffn_dim = integer("ffn_dim"),
              .context = integer("context"),
              .vocab = integer("vocab"),
              .norm = llama ? Norm::rms : Norm::layer,
              .position = llama ? Position::rope : Position::learned,
              .mlp = llama ? MlpKind::swiglu : MlpKind::gelu,
              .tied = !llama,
              .bias = !llama,
              .norm_eps = number("norm_eps"),
              .rope_base = llama ? number("rope_base") : 10000};
  }

  double number(const std::string& key) const { return std::stod(file.metadata.at(key)); }
  Index integer(const std::string& key) const { return std::stol(file.metadata.at(key)); }
  const Tensor& tensor(const std::string& name) const { return file.at(name); }

  Batch batch() const {
    const auto list = [&](const char* name) {
      const auto values = tensor(name).span<std::int32_t>();
      return std::vector<std::int32_t>(values.begin(), values.end());
    };
    return make_batch(list("input.tokens"), list("input.targets"), integer("context"));
  }

  std::unique_ptr<Transformer> model(DType dtype) const {
    auto model = std::make_unique<Transformer>(config);
    model->materialize(1, dtype);
    for (const ParameterPtr& p : model->parameters()) {
      p->value.copy_from(testing::to(dtype, tensor("value." + p->name)));
    }
    return model;
  }

  /// The key bias without rotation has gradient zero by symmetry, so its scale is that of the same
  /// projection's weight.
  double error(const Tensor& actual, const std::string& kind, const std::string& name,
               double key_scale) const {
    const bool key_bias = config.position == Position::learned && name.ends_with("attention.k.bias");
    if (!key_bias) return relative_error(actual, tensor(kind + name));
    const std::string weight = name.substr(0, name.size() - 4) + "weight";
    const Tensor start =
        kind == "grad." ? Tensor::zeros(actual.shape(), actual.dtype()) : tensor("value." + name);
    const Tensor difference = testing::to(DType::f64, actual);
    for (Index i = 0; i < actual.numel(); ++i) {
      difference.data<double>()[i] -= testing::to(DType::f64, start).data<double>()[i];
    }
    return testing::max_abs(difference) / (key_scale * testing::max_abs(tensor("grad." + weight)));
  }
};

/// The worst error of each kind.
struct Errors {
  double loss = 0, grad = 0, adamw = 0, sgd = 0;
};

Errors measure(const Golden& golden, DType dtype) {
  const Batch batch = golden.batch();
  Errors errors;
  {
    const auto model = golden.model(dtype);
    const double sum = accumulate_gradients(*model, {batch}, [&] { return batch.num_targets(); }, {batch});
    errors.loss = std::abs(sum / golden.number("loss_sum") - 1);
    for (const ParameterPtr& p : model->parameters()) {
      errors.grad = std::max(errors.grad, golden.error(p->value.grad(), "grad.", p->name, 1));
    }
  }
  const auto after_steps = [&](OptimizerOptions options, double lr, double clip, const std::string& kind) {
    const auto model = golden.model(dtype);
    Optimizer optimizer(model->parameters(), options);
    for (Index step = 0; step < golden.integer("steps"); ++step) {
      const StepResult result = train_step(*model, optimizer, batch, {.lr = lr, .clip = clip, .step = step});
      if (kind == "adamw." && dtype == DType::f64) {
        EXPECT_NEAR(result.grad_norm / golden.number("adamw.norm." + std::to_string(step + 1)), 1, kF64Bound);
      }
    }
    double worst = 0;
    for (const ParameterPtr& p : model->parameters()) {
      if (!golden.file.contains(kind + p->name)) continue;  // AdamW's key bias: noise over noise
      worst = std::max(worst, golden.error(p->value, kind, p->name, lr * 3));
    }
    return worst;
  };
  const OptimizerOptions adamw = {.kind = OptimizerKind::adamw,
                                  .weight_decay = golden.number("adamw.weight_decay"),
                                  .beta1 = golden.number("adamw.beta1"),
                                  .beta2 = golden.number("adamw.beta2"),
                                  .epsilon = golden.number("adamw.eps")};
  errors.adamw = after_steps(adamw, golden.number("adamw.lr"), golden.number("adamw.max_norm"), "adamw.");
  errors.sgd =
      after_steps({.kind = OptimizerKind::sgd, .weight_decay = 0}, golden.number("sgd.lr"), 0, "sgd.");
  return errors;
}

class GoldenModel : public ::testing::TestWithParam<const char*> {};

TEST_P(GoldenModel, EqualsPyTorchInF64) {
  const Errors errors = measure(Golden(GetParam()), DType::f64);
  EXPECT_LT(errors.loss, kF64Bound);
  EXPECT_LT(errors.grad, kF64Bound);
  EXPECT_LT(errors.adamw, kF64Bound);
  EXPECT_LT(errors.sgd, kF64Bound);
  std::printf("%s f64 errors: loss %.1e grad %.1e adamw %.1e sgd %.1e\n", GetParam(), errors.loss,
              errors.grad, errors.adamw, errors.sgd);
}

TEST_P(GoldenModel, IsAsExactAsPyTorchInF32) {
  const Golden golden(GetParam());
  const Errors errors = measure(golden, DType::f32);
  const auto bound = [&](const char* kind) { return 4 * golden.number(std::string("f32_error.") + kind); };
  // A loss's error is chance: of some 20 roundings of one number. Its bound is that of the logits it is made
  // of.
  EXPECT_LT(errors.loss, bound("logits"));
  EXPECT_LT(errors.grad, bound("grad"));
  EXPECT_LT(errors.adamw, bound("adamw"));
  EXPECT_LT(errors.sgd, bound("sgd"));
  std::printf("%s f32 errors / PyTorch's: loss %.2f grad %.2f adamw %.2f sgd %.2f\n", GetParam(),
              4 * errors.loss / bound("loss"), 4 * errors.grad / bound("grad"),
              4 * errors.adamw / bound("adamw"), 4 * errors.sgd / bound("sgd"));
}

TEST_P(GoldenModel, ReadsEveryParameter) {
  const Golden golden(GetParam());
  std::size_t values = 0;
  for (const auto& [name, tensor] : golden.file.tensors) values += name.starts_with("value.") ? 1 : 0;
  EXPECT_EQ(values, Transformer(golden.config).parameters().size());
}

INSTANTIATE_TEST_SUITE_P(Families, GoldenModel, ::testing::Values("gpt", "llama"),
                         [](const auto& family) { return std::string(family.param); });

}  // namespace
}  // namespace tessera::nn
