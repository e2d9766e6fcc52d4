#include "examples/plan_report.h"

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "dist/plan/query.h"
#include "dist/plan/units.h"
#include "examples/plan_text.h"
#include "examples/svg.h"

namespace tessera {
namespace {

using nlohmann::json;
using plan::quantity_text;
using plan::Unit;

constexpr const char* kStyle =
    "body{font:15px/1.5 system-ui,sans-serif;max-width:960px;margin:2em auto;padding:0 1em;color:#222}"
    "table{border-collapse:collapse;margin:1em 0;font-size:13px}td,th{padding:2px 10px;border-bottom:1px "
    "solid #ddd;"
    "text-align:left}figure{margin:1.5em 0}figcaption{font-weight:600}svg{width:100%;font:11px "
    "system-ui,sans-serif}"
    ".verdict{font-size:17px;border-left:4px solid #3b6fb6;padding:.4em "
    "1em;background:#f3f6fb}.wide{overflow-x:auto}";

double number(const json& value) { return value.is_number() ? value.get<double>() : 0; }

std::string seconds(double value) { return quantity_text(value, Unit::seconds); }

/// Fields of an object as a bar's parts.
std::vector<double> parts(const json& object, const std::vector<const char*>& fields) {
  std::vector<double> values;
  for (const char* field : fields) values.push_back(number(object[field]));
  return values;
}

/// The same question at sixty values of one field, spread evenly over `decades` from `first` on.
std::vector<std::pair<double, json>> sweep(json request, const char* field, double first, double decades) {
  constexpr int kPoints = 60;
  std::vector<std::pair<double, json>> answers;
  for (int i = 0; i <= kPoints; ++i) {
    const double value = std::round(first * std::pow(10, decades * i / kPoints));
    request[field] = value;
    json result = plan::query(request);
    if (result.contains("answer")) answers.emplace_back(value, std::move(result["answer"]));
  }
  return answers;
}

std::string roofline_charts(const json& request, const json& a) {
  std::vector<Bar> bars;
  for (const json& s : a["strategies"]) {
    const bool matmul = s["strategy"] == "matmul";
    const double compute = number(s["compute_s"]), other = number(s[matmul ? "memory_s" : "communication_s"]);
    bars.push_back({s["strategy"].get<std::string>() + " compute", seconds(compute), {compute, 0}});
    bars.push_back({matmul ? "memory" : "communication", seconds(other), {0, other}});
  }
  std::map<std::string, Curve> curves;
  json again = request;
  again.erase("sequences");
  for (const auto& [batch, answer] : sweep(again, "batch", 1e4, 5))
    for (const json& s : answer["strategies"]) {
      const std::string name = s["strategy"];
      curves[name].label = name;
      curves[name].points.emplace_back(batch, number(s.value("headroom", json())));
    }
  std::vector<Curve> list;
  for (const auto& [name, curve] : curves) list.push_back(curve);
  return bar_chart("Time of one layer", {"compute", "communication or memory"}, bars) +
         curve_chart("Compute over communication: above 1 is compute-bound", "tokens in the batch", "ratio",
                     list);
}

std::string memory_charts(const json& a) {
  const std::vector<const char*> fields = {"weights", "gradients", "optimizer", "activations", "logits"};
  std::vector<Bar> bars;
  for (const json& s : a["stages"])
    bars.push_back({s["stage"].get<std::string>() + " stage", quantity_text(number(s["total"]), Unit::bytes),
                    parts(s, fields)});
  const double there = number(a["hardware"]["memory_bytes"]);
  return bar_chart("Memory of one device", {fields.begin(), fields.end()}, bars, there,
                   quantity_text(there, Unit::bytes) + " there");
}

std::string pipeline_charts(const json& a) {
  if (a["timeline"].is_null()) return "<p>Too many actions to draw.</p>";
  std::vector<std::vector<Box>> rows;
  for (const json& rank : a["timeline"]) {
    std::vector<Box> row;
    for (const json& t : rank) {
      const std::string pass = t["pass"];
      const int kind = pass == "F" ? 0 : pass == "B" ? 1 : 2;
      row.push_back({t["begin_s"], t["end_s"], kind, fmt::format("{}{}", pass, t["microbatch"].get<int>())});
    }
    rows.push_back(std::move(row));
  }
  std::vector<Bar> held;
  for (const json& peak : a["peak_in_flight"])
    held.push_back(
        {fmt::format("rank {}", held.size()), quantity_text(number(peak), Unit::count), {number(peak)}});
  return gantt_chart("Who does what when", {"forward", "backward", "weight gradient"}, rows) +
         bar_chart("Microbatches whose activations a rank holds, at most", {"in flight"}, held);
}

std::string search_charts(const json& a) {
  const std::vector<const char*> fields = {"compute_s", "tensor_s", "context_s",  "expert_s",
                                           "bubble_s",  "data_s",   "optimizer_s"};
  std::vector<Bar> bars;
  for (const json& each : a["layouts"])
    bars.push_back({each["layout"]["text"].get<std::string>().substr(0, 40),
                    seconds(number(each["cost"]["step_s"])), parts(each["cost"], fields)});
  return bar_chart("Step time", {"compute", "tp", "cp", "ep", "bubble", "dp", "optimizer"}, bars);
}

std::string collective_charts(const json& request) {
  std::map<std::string, Curve> curves;
  for (const auto& [bytes, answer] : sweep(request, "bytes", 1e3, 7))
    for (const json& c : answer["costs"]) {
      const std::string name = c["algorithm"];
      curves[name].label = name;
      curves[name].points.emplace_back(bytes, number(c["seconds"]));
    }
  std::vector<Curve> list;
  for (const auto& [name, curve] : curves) list.push_back(curve);
  return curve_chart("Time over size", "bytes", "seconds", list);
}

std::string check_charts(const json& a) {
  std::vector<Bar> bars;
  const std::vector<const char*> fields = {"parameter", "gradient", "optimizer", "activation",
                                           "communication"};
  for (const json& rank : a["memory"])
    for (const char* what : {"predicted", "measured"}) {
      std::vector<double> values;
      for (const char* field : fields) values.push_back(number(rank[field][what]));
      bars.push_back({what, quantity_text(number(rank["total"][what]), Unit::bytes), values});
    }
  return bar_chart("Memory of each rank", {fields.begin(), fields.end()}, bars);
}

std::string charts(const json& request, const json& result) {
  const std::string command = result["command"];
  const json& a = result["answer"];
  if (command == "roofline") return roofline_charts(request, a);
  if (command == "memory") return memory_charts(a);
  if (command == "pipeline") return pipeline_charts(a);
  if (command == "search") return search_charts(a);
  if (command == "collective") return collective_charts(request);
  return command == "check" ? check_charts(a) : "";
}

std::string html(const TextTable& table) {
  const auto row = [](const std::vector<std::string>& cells, const char* tag) {
    std::string out = "<tr>";
    for (const std::string& cell : cells) out += fmt::format("<{0}>{1}</{0}>", tag, escaped(cell));
    return out + "</tr>\n";
  };
  std::string out =
      fmt::format("<h2>{}</h2><div class='wide'><table>\n", escaped(table.title)) + row(table.columns, "th");
  for (const auto& cells : table.rows) out += row(cells, "td");
  return out + "</table></div>\n";
}

}  // namespace

std::string plan_report(const json& request, const json& result) {
  const std::string command = result["command"], verdict = result["answer"]["verdict"];
  std::string body = fmt::format("<h1>plan {}</h1><p class='verdict'>{}</p>\n", command, escaped(verdict)) +
                     charts(request, result);
  for (const TextTable& table : plan_tables(command, result["answer"])) body += html(table);
  return fmt::format(
      "<!DOCTYPE html><html lang='en'><head><meta charset='utf-8'><title>plan "
      "{}</title><style>{}</style></head>\n"
      "<body>{}</body></html>\n",
      command, kStyle, body);
}

}  // namespace tessera
