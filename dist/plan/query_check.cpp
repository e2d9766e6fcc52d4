#include <algorithm>
#include <cmath>

#include "dist/plan/collective.h"
#include "dist/plan/flops.h"
#include "dist/plan/price.h"
#include "dist/plan/query_internal.h"
#include "dist/plan/require.h"
#include "dist/plan/run_file.h"

namespace tessera::plan {
namespace {

using nlohmann::json;

json compared(double predicted, double measured) {
  json result = {{"predicted", predicted}, {"measured", measured}, {"error", nullptr}};
  if (measured > 0) result["error"] = predicted / measured - 1;
  return result;
}

json memory_json(const json& run) {
  json ranks = json::array();
  for (const json& rank : at(run, "ranks", json::value_t::array)) {
    const LedgerBytes p = ledger_bytes(ledger_input(run, static_cast<double>(ranks.size())));
    const json& peaks = at(rank, "peak_bytes", json::value_t::object);
    json row;
    double measured = 0;
    const auto compare = [&](const char* category, double predicted) {
      row[category] = compared(predicted, number_at(peaks, category));
      measured += number_at(peaks, category);
    };
    compare("parameter", p.parameter);
    compare("gradient", p.gradient);
    compare("optimizer", p.optimizer);
    compare("activation", p.activation);
    compare("communication", p.communication);
    row["total"] = compared(p.total(), measured);
    ranks.push_back(row);
  }
  require(!ranks.empty(), "run", "has no ranks");
  return ranks;
}

double median(std::vector<double> values) {
  require(!values.empty(), "run", "has no steps");
  std::ranges::nth_element(values, values.begin() + std::ssize(values) / 2);
  return values[values.size() / 2];
}

double median_of(const json& run, const char* field) {
  std::vector<double> values;
  for (const json& step : at(run, "steps", json::value_t::array)) values.push_back(number_at(step, field));
  return median(std::move(values));
}

/// Compute at the rate of the best matrix product: what no run reaches, and by how much it does not.
json compute_json(const json& run, const Model& model) {
  const double tokens = number_at(run["config"], "batch") * model.context;
  const double flops = tokens * model_flops_per_token(model, model.context, true);
  return compared(flops / number_at(run, "peak_gemm_flops"), median_of(run, "compute_s"));
}

/// Every operation's own messages and bytes, priced.
json comm_json(const json& run, const std::optional<LinkPrice>& link) {
  json rows = json::array();
  for (const json& row : at(run, "comm", json::value_t::array)) {
    json out = {{"op", word_at(row, "op")},           {"axis", word_at(row, "axis")},
                {"purpose", word_at(row, "purpose")}, {"algorithm", word_at(row, "algorithm")},
                {"calls", number_at(row, "calls")},   {"messages", number_at(row, "messages")},
                {"bytes", number_at(row, "bytes")}};
    out["seconds"] = nullptr;
    if (link)
      out["seconds"] = compared(
          number_at(row, "messages") * link->alpha_s + number_at(row, "bytes") * link->beta_s_per_byte,
          number_at(row, "seconds"));
    rows.push_back(out);
  }
  return rows;
}

/// What the gradient sums of one step make rank 0 send, by its algorithm's closed form.
json gradient_bytes_json(const json& run, const Model& model) {
  const double dp = number_at(run["layout"], "dp"), bytes = word_at(run["config"], "dtype") == "f64" ? 8 : 4;
  double sent = 0;
  std::string algorithm;
  for (const json& row : at(run, "comm", json::value_t::array)) {
    if (word_at(row, "purpose") != "gradients" || word_at(row, "op") != "all_reduce") continue;
    sent += number_at(row, "bytes");
    algorithm = word_at(row, "algorithm");
  }
  if (dp == 1 || sent == 0 || number_at(run["layout"], "zero") > 0) return nullptr;
  const Call call = {.kind = Kind::all_reduce,
                     .rank = 0,
                     .ranks = static_cast<int>(dp),
                     .count = static_cast<Index>(count_parameters(model).total())};
  const Traffic traffic = schedule_traffic(call, parse_algorithm(algorithm));
  const double steps = static_cast<double>(run["steps"].size());
  return compared(static_cast<double>(traffic.sent.elements) * bytes, sent / steps);
}

std::optional<LinkPrice> read_link(Request& request) {
  const std::optional<double> latency = request.number("alpha_s", Unit::seconds);
  const std::optional<double> per_byte = request.number("beta_s_per_byte");
  require(latency.has_value() == per_byte.has_value(), "alpha_s", "and beta_s_per_byte belong together");
  if (!latency) return std::nullopt;
  return LinkPrice{*latency, *per_byte, *latency};
}

std::string percent(double part) {
  return quantity_text(std::abs(100 * part), Unit::count) + (part < 0 ? " % short" : " % in excess");
}

std::string verdict(const json& ranks, const json& compute) {
  double worst = 0;
  for (const json& rank : ranks)
    if (const json& error = rank["total"]["error"];
        !error.is_null() && std::abs(error.get<double>()) > std::abs(worst))
      worst = error.get<double>();
  std::string text = "Parameters, gradients, optimizer, activations and communication are predicted " +
                     percent(worst) + " of what was measured, at worst";
  if (const double measured = compute["measured"]; measured > 0)
    text += "; compute reaches " +
            quantity_text(100 * compute["predicted"].get<double>() / measured, Unit::count) +
            " % of the best matrix product";
  return text + ".";
}

}  // namespace

json query_check(Request& request) {
  const json& run = request.any("run");
  const std::optional<LinkPrice> link = read_link(request);
  const json &config = at(run, "config", json::value_t::object),
             &layout = at(run, "layout", json::value_t::object);
  const Model model = model_from_json(at(config, "model", json::value_t::object));
  for (const char* degree : {"tp", "pp", "cp", "ep"})
    require(number_at(layout, degree) == 1, "check", "got a run with ", degree, " ", shown(layout[degree]),
            ", expected data parallel ones");
  require(number_at(layout, "dp") >= 1 && number_at(layout, "dp") <= 1e6, "check", "dp is ",
          shown(layout["dp"]));
  require(number_at(layout, "microbatches") >= 1, "check", "microbatches is ", shown(layout["microbatches"]));
  const json memory = memory_json(run), compute = compute_json(run, model);
  return {{"model", to_json(model)},      {"memory", memory},
          {"compute_s", compute},         {"gradient_bytes_per_step", gradient_bytes_json(run, model)},
          {"comm", comm_json(run, link)}, {"verdict", verdict(memory, compute)}};
}

}  // namespace tessera::plan
