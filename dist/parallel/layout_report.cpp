#include "dist/parallel/layout_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <regex>

namespace tessera::dist {
namespace {

using Visit = std::function<void(const std::string& module, const nn::ParameterPtr&)>;

void visit_layer(const nn::Layer& layer, const Visit& visit) {
  if (layer == nullptr) return;
  if (const auto* mlp = dynamic_cast<const nn::Mlp*>(layer.get())) {
    for (const nn::Layer* part : {&mlp->gate, &mlp->up, &mlp->down}) visit_layer(*part, visit);
    return;
  }
  nn::Parameters parameters;
  layer->collect(parameters);
  for (const nn::ParameterPtr& p : parameters) visit(layer->type(), p);
}

/// In the order of Transformer::parameters().
void visit_model(const nn::Transformer& model, const Visit& visit) {
  visit_layer(model.embedding, visit);
  if (model.position) visit("Position", model.position);
  for (const auto& block : model.blocks) {
    visit_layer(block->norm1, visit);
    const nn::Attention& attention = block->attention;
    for (const nn::Layer* layer : {&attention.q, &attention.k, &attention.v, &attention.out})
      visit_layer(*layer, visit);
    visit_layer(block->norm2, visit);
    visit_layer(block->mlp, visit);
  }
  visit_layer(model.norm, visit);
  if (!model.config().tied) visit("Head", model.head.weight);
}

/// "blocks.3.mlp.up.weight" as "blocks.*.mlp.up.weight".
std::string family(const std::string& name) {
  static const std::regex kNumber("^blocks\\.[0-9]+\\.");
  return std::regex_replace(name, kNumber, "blocks.*.");
}

/// The part of the parameter in a box: "all", or where it starts and how far it goes.
std::string part(const nn::Box& box, const Shape& global) {
  return box == nn::Box::whole(global) ? "all" : nn::to_string(box);
}

std::string line(const HeldParameter& p, Index count) {
  return fmt::format("{:>3} x {:32} {:10} {:12} uses {}, owns {}; {}\n", count, family(p.name), p.module,
                     to_string(p.global_shape), part(p.used, p.global_shape), part(p.owned, p.global_shape),
                     p.placement);
}

bool alike(const HeldParameter& a, const HeldParameter& b) {
  return family(a.name) == family(b.name) && a.module == b.module && a.used == b.used && a.owned == b.owned &&
         a.placement == b.placement;
}

}  // namespace

LayoutReport layout_report(const nn::Transformer& model, const PlacementTable& table, const Grid& grid,
                           int rank) {
  LayoutReport report;
  visit_model(model, [&](const std::string& module, const nn::ParameterPtr& p) {
    report.parameters.push_back({module, p->name, p->global_shape, p->used, p->owned, table.describe(p),
                                 grid.coordinate(rank, table.axes_where(p, Held::replicated)) == 0});
    report.num_used += p->used.shape.numel();
    report.num_owned += p->owned.shape.numel();
  });
  return report;
}

std::string to_string(const LayoutReport& report) {
  std::vector<std::pair<HeldParameter, Index>> lines;
  for (const HeldParameter& p : report.parameters) {
    const auto same = std::ranges::find_if(lines, [&](const auto& entry) { return alike(entry.first, p); });
    if (same != lines.end())
      ++same->second;
    else
      lines.emplace_back(p, 1);
  }
  std::string text;
  for (const auto& [parameter, count] : lines) text += line(parameter, count);
  return text + fmt::format("{} elements used here, {} owned\n", report.num_used, report.num_owned);
}

}  // namespace tessera::dist
