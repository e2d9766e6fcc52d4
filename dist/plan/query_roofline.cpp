#include <algorithm>
#include <cmath>

#include "dist/plan/matmul.h"
#include "dist/plan/query_internal.h"
#include "dist/plan/require.h"
#include "dist/plan/roofline.h"
#include "dist/plan/training_run.h"

namespace tessera::plan {
namespace {

using nlohmann::json;

json to_json(const Bound& b, double batch) {
  json result = {{"strategy", b.strategy},
                 {"compute_s", b.compute_s},
                 {"communication_s", b.communication_s},
                 {"bound", b.compute_bound() ? "compute" : "bandwidth"},
                 {"headroom", nullptr},
                 {"devices", b.devices},
                 {"tokens_per_device", batch / b.devices},
                 {"critical_tokens_per_device", number_or_null(b.critical_tokens)},
                 {"critical_batch", nullptr},
                 {"max_devices", nullptr},
                 {"degree_limit", number_or_null(b.max_degree)},
                 {"max_degree", nullptr},
                 {"verdict", b.verdict}};
  if (b.communication_s > 0) result["headroom"] = b.compute_s / b.communication_s;
  if (b.max_degree) result["max_degree"] = std::max(1.0, std::floor(*b.max_degree));
  if (b.critical_tokens) {
    result["critical_batch"] = *b.critical_tokens * b.devices;
    result["max_devices"] = batch / *b.critical_tokens;
  }
  for (const auto& [name, value] : b.parts) result[name] = value;
  return result;
}

json limits_json(const Limits& l) {
  return {{"fsdp_devices", l.fsdp_devices}, {"tp_degree", l.tp_degree}, {"mixed_devices", l.mixed_devices},
          {"mixed_floor", l.mixed_floor},   {"best_dp", l.best_dp},     {"best_dp_pow2", l.best_dp_pow2}};
}

/// One matrix product on one device: the tokens that it has, dim to ffn_dim.
json matmul_json(Request& request, const RooflineInput& in) {
  const NumberBytes bytes = {.activation = request.number("activation_bytes").value_or(2),
                             .weight = request.number("weight_bytes").value_or(2),
                             .output = request.number("output_bytes").value_or(2)};
  const double rows = in.batch / (in.dp * in.tp * in.pp);
  const MatmulRoofline r = matmul_roofline(in.hardware, rows, in.model.dim, in.model.ffn_dim, bytes);
  const std::string size = quantity_text(rows, Unit::count) + " tokens";
  const std::string need = r.critical_rows > 0
                               ? quantity_text(r.critical_rows, Unit::count) + " tokens would do"
                               : "no number of tokens would do";
  return {{"strategy", "matmul"},
          {"flops", r.flops},
          {"bytes", r.bytes},
          {"intensity", r.intensity()},
          {"ridge", r.ridge},
          {"compute_s", r.compute_s},
          {"memory_s", r.memory_s},
          {"bound", r.compute_bound() ? "compute" : "memory"},
          {"critical_tokens_per_device", r.critical_rows > 0 ? json(r.critical_rows) : json(nullptr)},
          {"small_batch_critical_tokens", r.small_critical_rows},
          {"verdict",
           (r.compute_bound() ? "Compute-bound with " : "Memory-bound with ") + size + "; " + need + "."}};
}

struct Wanted {
  std::string strategy;
  std::optional<double> devices, dp, tp, dp_axes;
};

double largest_divisor(double number, double most) {
  double divisor = std::min(number, most);
  while (std::fmod(number, divisor) != 0) --divisor;
  return divisor;
}

/// The degrees a strategy is looked at with. "all" gives each strategy all devices.
RooflineInput degrees_for(const std::string& strategy, RooflineInput in, const Wanted& wanted) {
  const Hardware& h = in.hardware;
  const bool torus = h.fabric == Fabric::torus, all = wanted.strategy == "all";
  const bool weights_only = strategy == "dp" || strategy == "fsdp";
  if (!wanted.tp && wanted.devices && (strategy == "tp" || strategy == "mixed"))
    in.tp = largest_divisor(*wanted.devices / in.pp, torus ? 8 : h.domain);
  if (all && weights_only) in.tp = in.pp = 1;
  if (!wanted.dp && wanted.devices) in.dp = *wanted.devices / (in.tp * in.pp * in.cp);
  if (all && weights_only && wanted.devices) in.dp = *wanted.devices;
  require(in.dp == std::floor(in.dp) && in.dp >= 1, "devices", "got ", wanted.devices.value_or(0),
          ", expected a multiple of tp x pp x cp, ", in.tp * in.pp * in.cp);
  if (!wanted.dp_axes && torus) in.dp_axes = weights_only ? h.axes : std::max(1.0, h.axes - 1);
  return in;
}

std::vector<std::string> strategies_of(const Wanted& wanted, const RooflineInput& in) {
  if (wanted.strategy != "all") return {wanted.strategy};
  std::vector<std::string> all = {"dp", "fsdp", "tp", "mixed"};
  if (in.model.experts > 1 && in.ep > 1) all.push_back("ep");
  return all;
}

void add_times(json& run, const char* name, const RunInput& in, double flops_per_token, double rate) {
  const RunTimes times = run_times(in, flops_per_token, rate);
  run[name] = {{"step_s", number_or_null(times.step_s)}, {"days", number_or_null(times.days)}};
}

/// What one known rate says of a step and of the run.
json run_json(Request& request, RunInput in) {
  const std::optional<double> mfu = request.number("mfu"),
                              achieved = request.number("achieved_flops", Unit::flops);
  const std::optional<double> step_s = request.number("step_s", Unit::seconds);
  const std::optional<double> tokens_per_s = request.number("tokens_per_s");
  in.train_tokens = request.number("train_tokens").value_or(0);
  require(!mfu || *mfu <= 1, "mfu", "got ", mfu.value_or(0), ", expected at most 1");
  if (!mfu && !achieved && !step_s && !tokens_per_s) return nullptr;

  const TokenFlops t = token_flops(in);
  json run;
  if (mfu) {
    add_times(run, "at_mfu", in, t.model, *mfu * in.flops);
    add_times(run, "at_mfu_by_parameters", in, t.parameters_without_attention, *mfu * in.flops);
  }
  if (achieved) {
    add_times(run, "at_achieved", in, t.hardware, *achieved);
    add_times(run, "at_achieved_by_parameters", in, t.by_parameters, *achieved);
    run["share_of_peak"] = *achieved / in.flops;
    run["aggregate_flops"] = *achieved * in.devices;
  }
  require(!step_s || in.batch > 0, "step_s", "needs a batch");
  if (step_s || tokens_per_s) {
    const double rate = tokens_per_s ? *tokens_per_s : in.batch / *step_s;
    run["mfu"] = utilisation(in, t.model, rate);
    run["hfu"] = utilisation(in, t.hardware, rate);
    run["hfu_korthikanti"] = utilisation(in, t.korthikanti, rate);
    run["mfu_by_parameters"] = utilisation(in, t.parameters_and_attention, rate);
    run["mfu_without_attention"] = utilisation(in, t.parameters_without_attention, rate);
  }
  return run;
}

json flops_json(const RunInput& in) {
  const ForwardFlops f = forward_flops(in.model, in.sequence);
  const TokenFlops t = token_flops(in);
  return {{"projections", f.projections},
          {"mlp", f.mlp},
          {"attention", f.attention},
          {"head", f.head},
          {"attention_over_matmul", f.attention / (f.projections + f.mlp)},
          {"model", t.model},
          {"hardware", t.hardware},
          {"by_parameters", t.by_parameters},
          {"selective_overhead", f.attention / t.model},
          {"selective_overhead_korthikanti", t.korthikanti / t.model - 1}};
}

}  // namespace

json query_roofline(Request& request) {
  std::vector<std::string> known = roofline_strategies();
  known.insert(known.begin(), "all");
  known.push_back("matmul");
  Wanted wanted;
  wanted.strategy = request.choice("strategy", known);
  wanted.devices = request.whole("devices");
  wanted.dp = request.whole("dp"), wanted.tp = request.whole("tp"), wanted.dp_axes = request.whole("dp_axes");

  RooflineInput in;
  in.model = read_model(request);
  in.hardware = read_hardware(request);
  in.sequence = read_sequence(request, in.model);
  in.batch = read_batch(request, in.sequence);
  if (in.batch == 0) in.batch = 2e6;
  in.dp = wanted.dp.value_or(1), in.tp = wanted.tp.value_or(1);
  in.pp = request.whole_or("pp", 1), in.ep = request.whole_or("ep", 1), in.cp = request.whole_or("cp", 1);
  in.dp_axes = wanted.dp_axes.value_or(1), in.tp_axes = request.whole_or("tp_axes", 1);
  require(!wanted.devices || !wanted.dp || *wanted.devices == in.dp * in.tp * in.pp * in.cp, "devices",
          "got ", wanted.devices.value_or(0), ", but dp x tp x pp x cp is ", in.dp * in.tp * in.pp * in.cp);
  const RooflineInput layout = degrees_for("mixed", in, wanted);
  const Recompute recompute = recompute_from(request.word("recompute", "none"));

  json strategies = json::array();
  for (const std::string& name : strategies_of(wanted, in)) {
    const RooflineInput here = degrees_for(name, in, wanted);
    strategies.push_back(name == "matmul" ? matmul_json(request, here)
                                          : to_json(roofline(name, here), here.batch));
  }
  const double devices = wanted.devices.value_or(in.dp * in.tp * in.pp * in.cp);
  const RunInput run = {.model = in.model,
                        .flops = in.hardware.flops,
                        .devices = devices,
                        .batch = in.batch,
                        .sequence = in.sequence,
                        .recompute = recompute};
  return {{"model", plan::to_json(in.model)},
          {"hardware", plan::to_json(in.hardware)},
          {"batch", in.batch},
          {"sequence", in.sequence},
          {"devices", devices},
          {"alpha", in.alpha()},
          {"strategies", strategies},
          {"limits", limits_json(limits(layout))},
          {"forward_flops_per_token", flops_json(run)},
          {"run", run_json(request, run)},
          {"verdict", strategies.front()["verdict"]}};
}

}  // namespace tessera::plan
