#include "dist/plan/layout.h"

#include <cmath>
#include <sstream>

#include "dist/plan/pipeline_schedule.h"
#include "dist/plan/require.h"

namespace tessera::plan {
namespace {

bool divides(double part, double whole) { return std::fmod(whole, part) == 0; }

template <class... Parts>
std::string text(const Parts&... parts) {
  std::ostringstream out;
  (out << ... << parts);
  return out.str();
}

}  // namespace

std::string to_string(const Layout& l) {
  std::string result = text("dp=", l.dp);
  const auto add = [&](const char* name, double value, double usual) {
    if (value != usual) result += text(" ", name, "=", value);
  };
  add("tp", l.tp, 1);
  add("pp", l.pp, 1);
  add("cp", l.cp, 1);
  add("ep", l.ep, 1);
  add("zero", l.zero, 0);
  add("microbatches", l.microbatches, 1);
  if (l.pp > 1) result += " schedule=" + l.schedule;
  add("virtual-stages", l.virtual_stages, 1);
  if (l.sequence_parallel) result += " sequence-parallel";
  if (l.recompute != Recompute::none) result += std::string(" recompute=") + to_string(l.recompute);
  return result;
}

Layout layout_from(Request& request) {
  Layout l;
  l.dp = request.whole_or("dp", 1);
  l.tp = request.whole_or("tp", 1);
  l.pp = request.whole_or("pp", 1);
  l.cp = request.whole_or("cp", 1);
  l.ep = request.whole_or("ep", 1);
  l.zero = request.whole_or("zero", 0, 0);
  require(l.zero <= 3, "zero", "got ", l.zero, ", expected 0 to 3");
  l.sequence_parallel = request.flag("sequence_parallel", false);
  l.microbatches = request.whole_or("microbatches", 1);
  l.schedule = request.choice("schedule", pipeline_schedule_names());
  l.virtual_stages = request.whole_or("virtual_stages", 1);
  l.recompute = recompute_from(request.word("recompute", "none"));
  return l;
}

std::string impossible(const Layout& l, const Model& m) {
  if (m.detailed() && !divides(l.tp, m.heads)) return text("tp ", l.tp, " does not divide heads ", m.heads);
  if (m.detailed() && !divides(l.tp, m.kv_heads))
    return text("tp ", l.tp, " does not divide kv_heads ", m.kv_heads);
  if (l.pp * l.virtual_stages > m.layers)
    return text("pp ", l.pp, " x ", l.virtual_stages, " stages are more than the ", m.layers, " layers");
  if (l.ep > 1 && m.experts == 1) return text("ep ", l.ep, " without experts");
  if (l.ep > 1 && !divides(l.ep, m.experts - m.shared_experts))
    return text("ep ", l.ep, " does not divide the ", m.experts - m.shared_experts, " experts");
  if (!divides(l.ep, l.dp * l.cp)) return text("ep ", l.ep, " does not divide dp x cp ", l.dp * l.cp);
  if (l.virtual_stages > 1 && l.schedule != "interleaved")
    return text("virtual-stages ", l.virtual_stages, " with schedule ", l.schedule);
  if (l.schedule == "interleaved" && !divides(l.pp, l.microbatches))
    return text("interleaved with ", l.microbatches, " microbatches on ", l.pp, " stages, no multiple");
  if (l.sequence_parallel && l.tp == 1) return "sequence-parallel without tp";
  return "";
}

}  // namespace tessera::plan
