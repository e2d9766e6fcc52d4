#include "examples/plan_text.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "dist/plan/units.h"

namespace tessera {
namespace {

using nlohmann::json;
using plan::quantity_text;
using plan::Unit;
using Row = std::vector<std::string>;

std::string number(const json& value, Unit unit = Unit::count) {
  return value.is_number() ? quantity_text(value.get<double>(), unit) : "-";
}
std::string bytes(const json& value) { return number(value, Unit::bytes); }
std::string seconds(const json& value) { return number(value, Unit::seconds); }
std::string rate(const json& value) { return number(value, Unit::bytes_per_s); }
std::string percent(const json& value) {
  return value.is_number() ? quantity_text(100 * value.get<double>(), Unit::count) + " %" : "-";
}
std::string text(const json& value) { return value.is_string() ? value.get<std::string>() : value.dump(); }

TextTable setting(const json& a) {
  TextTable t = {"Setting", {"what", "value"}, {}};
  if (a.contains("model"))
    t.rows.push_back(
        {"model", text(a["model"]["name"]) + ", " + number(a["model"]["parameters"]) + " parameters"});
  if (a.contains("hardware")) {
    const json& h = a["hardware"];
    t.rows.push_back({"hardware", text(h["name"]) + ", " + number(h["flops"], Unit::flops) + ", link " +
                                      rate(h["link_bandwidth"]) + ", beyond " + number(h["domain"]) +
                                      " devices " + rate(h["scale_out_bandwidth"])});
  }
  for (const char* key : {"devices", "batch", "sequence"})
    if (a.contains(key)) t.rows.push_back({key, number(a[key])});
  if (a.contains("layout")) t.rows.push_back({"layout", text(a["layout"]["text"])});
  return t;
}

TextTable strategies(const json& a) {
  TextTable t = {"Per layer",
                 {"strategy", "devices", "compute", "communication", "bound", "headroom", "tokens/device",
                  "needed", "most devices", "most in group"},
                 {}};
  for (const json& s : a["strategies"]) {
    if (s["strategy"] == "matmul") continue;
    t.rows.push_back({text(s["strategy"]), number(s["devices"]), seconds(s["compute_s"]),
                      seconds(s["communication_s"]), text(s["bound"]), number(s["headroom"]),
                      number(s["tokens_per_device"]), number(s["critical_tokens_per_device"]),
                      number(s["max_devices"]), number(s["max_degree"])});
  }
  return t;
}

TextTable matmul(const json& s) {
  return {"One matrix product on one device",
          {"FLOPs", "bytes", "FLOPs/byte", "ridge", "compute", "memory", "bound", "tokens needed"},
          {{number(s["flops"]), bytes(s["bytes"]), number(s["intensity"]), number(s["ridge"]),
            seconds(s["compute_s"]), seconds(s["memory_s"]), text(s["bound"]),
            number(s["critical_tokens_per_device"])}}};
}

TextTable limits(const json& l) {
  return {"How far each goes at this batch",
          {"fsdp devices", "tp degree", "mixed devices", "mixed tokens/device", "best dp of the mix"},
          {{number(l["fsdp_devices"]), number(l["tp_degree"]), number(l["mixed_devices"]),
            number(l["mixed_floor"]), number(l["best_dp"])}}};
}

TextTable training_run(const json& run) {
  TextTable t = {"Training run", {"what", "value"}, {}};
  for (const auto& [name, value] : run.items()) {
    if (value.is_object()) {
      t.rows.push_back({name, seconds(value["step_s"]) + " a step, " + number(value["days"]) + " days"});
    } else {
      t.rows.push_back({name, name == "aggregate_flops" ? number(value, Unit::flops) : percent(value)});
    }
  }
  return t;
}

std::vector<TextTable> roofline_tables(const json& a) {
  std::vector<TextTable> tables = {setting(a)};
  if (TextTable t = strategies(a); !t.rows.empty()) tables.push_back(t);
  for (const json& s : a["strategies"])
    if (s["strategy"] == "matmul") tables.push_back(matmul(s));
  tables.push_back(limits(a["limits"]));
  if (!a["run"].is_null()) tables.push_back(training_run(a["run"]));
  return tables;
}

std::vector<TextTable> memory_tables(const json& a) {
  TextTable t = {"Per device",
                 {"stage", "parameters", "weights", "gradients", "optimizer", "activations", "logits",
                  "total", "in flight"},
                 {}};
  for (const json& s : a["stages"])
    t.rows.push_back({text(s["stage"]), number(s["parameters"]), bytes(s["weights"]), bytes(s["gradients"]),
                      bytes(s["optimizer"]), bytes(s["activations"]), bytes(s["logits"]), bytes(s["total"]),
                      number(s["in_flight"])});
  const json& w = a["whole"];
  return {setting(a),
          t,
          {"All devices together, each number once",
           {"state", "activations", "total", "devices at least"},
           {{bytes(w["state"]), bytes(w["activations"]), bytes(w["total"]), number(w["min_devices"])}}}};
}

std::vector<TextTable> pipeline_tables(const json& a) {
  TextTable held = {"Held by each rank", {"rank", "microbatches in flight"}, {}};
  for (const json& peak : a["peak_in_flight"])
    held.rows.push_back({std::to_string(held.rows.size()), number(peak)});
  return {{"Pipeline",
           {"schedule", "ranks", "microbatches", "makespan", "busy", "idle/busy", "idle/total", "formula",
            "internal idle"},
           {{text(a["schedule"]), number(a["pp"]), number(a["microbatches"]), seconds(a["makespan_s"]),
             seconds(a["ideal_s"]), percent(a["bubble_over_ideal"]), percent(a["bubble_of_total"]),
             percent(a["formula_bubble_over_ideal"]), seconds(a["internal_bubble_s"])}}},
          held};
}

std::vector<TextTable> search_tables(const json& a) {
  TextTable t = {
      "Layouts that fit, fastest first",
      {"step", "MFU", "compute", "tp", "cp", "ep", "bubble", "dp", "optimizer", "memory", "layout"},
      {}};
  for (const json& each : a["layouts"]) {
    const json& c = each["cost"];
    t.rows.push_back({seconds(c["step_s"]), percent(each["mfu"]), seconds(c["compute_s"]),
                      seconds(c["tensor_s"]), seconds(c["context_s"]), seconds(c["expert_s"]),
                      seconds(c["bubble_s"]), seconds(c["data_s"]), seconds(c["optimizer_s"]),
                      bytes(each["memory"]["total"]), text(each["layout"]["text"])});
  }
  TextTable misfits = {"Layouts that do not (" + number(a["not_fitting"]) + " in all), leanest choice",
                       {"reason", "layout"},
                       {}};
  for (const json& each : a["misfits"])
    misfits.rows.push_back({text(each["reason"]), text(each["layout"]["text"])});
  std::vector<TextTable> tables = {setting(a)};
  if (!t.rows.empty()) tables.push_back(t);
  if (!misfits.rows.empty()) tables.push_back(misfits);
  return tables;
}

std::vector<TextTable> collective_tables(const json& a) {
  TextTable t = {text(a["op"]) + " of " + bytes(a["bytes"]),
                 {"algorithm", "seconds", "latency", "bandwidth", "algbw", "busbw"},
                 {}};
  for (const json& c : a["costs"])
    t.rows.push_back({text(c["algorithm"]), seconds(c["seconds"]), seconds(c["latency_s"]),
                      seconds(c["bandwidth_s"]), rate(c["algbw"]), rate(c["busbw"])});
  std::vector<TextTable> tables = {setting(a), t};
  if (a.contains("levels") && !a["levels"].empty()) {
    TextTable levels = {"Levels of switches", {"level", "units", "out of one", "all-gather rate"}, {}};
    for (const json& l : a["levels"])
      levels.rows.push_back({text(l["level"]), number(l["degree"]), rate(l["unit_bandwidth"]),
                             rate(l["collective_bandwidth"])});
    tables.push_back(levels);
  }
  return tables;
}

std::vector<TextTable> check_tables(const json& a) {
  TextTable memory = {
      "Memory, predicted / measured",
      {"rank", "parameter", "gradient", "optimizer", "activation", "communication", "total", "error"},
      {}};
  for (const json& rank : a["memory"]) {
    Row row = {std::to_string(memory.rows.size())};
    for (const char* category :
         {"parameter", "gradient", "optimizer", "activation", "communication", "total"})
      row.push_back(bytes(rank[category]["predicted"]) + " / " + bytes(rank[category]["measured"]));
    row.push_back(percent(rank["total"]["error"]));
    memory.rows.push_back(row);
  }
  TextTable comm = {
      "Communication, as rank 0 counted it",
      {"op", "axis", "purpose", "algorithm", "calls", "messages", "bytes", "predicted", "measured"},
      {}};
  for (const json& c : a["comm"])
    comm.rows.push_back({text(c["op"]), text(c["axis"]), text(c["purpose"]), text(c["algorithm"]),
                         number(c["calls"]), number(c["messages"]), bytes(c["bytes"]),
                         c["seconds"].is_null() ? "-" : seconds(c["seconds"]["predicted"]),
                         c["seconds"].is_null() ? "-" : seconds(c["seconds"]["measured"])});
  TextTable rest = {"A step",
                    {"what", "predicted", "measured"},
                    {{"compute, at the best matrix product", seconds(a["compute_s"]["predicted"]),
                      seconds(a["compute_s"]["measured"])}}};
  if (const json& sent = a["gradient_bytes_per_step"]; !sent.is_null())
    rest.rows.push_back({"gradients sent by rank 0", bytes(sent["predicted"]), bytes(sent["measured"])});
  return {memory, comm, rest};
}

std::vector<TextTable> list_tables(const json& a) {
  TextTable hardware = {"--hardware",
                        {"name", "fabric", "FLOP/s", "memory", "bandwidth", "link", "domain", "beyond, each",
                         "beyond, domain", "measured"},
                        {}};
  for (const json& h : a["hardware"]) {
    const json& m = h["measured"];
    hardware.rows.push_back({text(h["name"]), text(h["fabric"]), number(h["flops"], Unit::flops),
                             bytes(h["memory_bytes"]), rate(h["memory_bandwidth"]), rate(h["link_bandwidth"]),
                             number(h["domain"]), rate(h["scale_out_bandwidth"]), rate(h["domain_egress"]),
                             m.is_null() ? "-" : percent(m["compute"]) + ", " + percent(m["link"])});
  }
  TextTable models = {
      "--model",
      {"name", "layers", "dim", "ffn_dim", "heads", "kv_heads", "experts", "per token", "parameters"},
      {}};
  for (const json& m : a["models"])
    models.rows.push_back({text(m["name"]), number(m["layers"]), number(m["dim"]), number(m["ffn_dim"]),
                           number(m["heads"]), number(m["kv_heads"]), number(m["experts"]),
                           number(m["top_k"]), number(m["parameters"])});
  return {hardware, models};
}

/// Whether a column holds numbers, which stand right.
bool stands_right(const TextTable& t, std::size_t column) {
  return std::ranges::all_of(t.rows, [&](const Row& row) {
    const std::string& cell = row[column];
    return cell == "-" ||
           (!cell.empty() && (std::isdigit(static_cast<unsigned char>(cell[0])) || cell[0] == '-'));
  });
}

std::string rendered(const TextTable& t) {
  std::vector<std::size_t> widths;
  for (std::size_t c = 0; c < t.columns.size(); ++c) {
    widths.push_back(t.columns[c].size());
    for (const Row& row : t.rows) widths[c] = std::max(widths[c], row[c].size());
  }
  const auto line = [&](const Row& row) {
    std::string out = " ";
    for (std::size_t c = 0; c < row.size(); ++c) {
      const std::string space(widths[c] - row[c].size(), ' ');
      out += " " + (stands_right(t, c) ? space + row[c] : row[c] + space) + " ";
    }
    return out.substr(0, out.find_last_not_of(' ') + 1) + "\n";
  };
  std::string out = t.title + "\n" + line(t.columns);
  for (const Row& row : t.rows) out += line(row);
  return out + "\n";
}

}  // namespace

std::vector<TextTable> plan_tables(const std::string& command, const json& answer) {
  if (command == "roofline") return roofline_tables(answer);
  if (command == "memory") return memory_tables(answer);
  if (command == "pipeline") return pipeline_tables(answer);
  if (command == "search") return search_tables(answer);
  if (command == "collective") return collective_tables(answer);
  if (command == "check") return check_tables(answer);
  return list_tables(answer);
}

std::string plan_text(const std::string& command, const json& answer) {
  std::string out;
  for (const TextTable& table : plan_tables(command, answer)) out += rendered(table);
  return out + answer["verdict"].get<std::string>() + "\n";
}

}  // namespace tessera
