#pragma once

#include <string>

#include "dist/plan/roofline.h"

/// What a bound means, and what to change, in a sentence.
namespace tessera::plan {

/// Of a strategy that a larger batch makes compute-bound.
std::string batch_verdict(const Bound& bound, double batch);
/// Of one that only a smaller degree does.
std::string degree_verdict(const Bound& bound, const std::string& axis, double degree);
/// Of expert parallel, which only wider experts do.
std::string width_verdict(const Bound& bound, double ffn_dim);
/// Of pipeline stages, which only more layers per stage do.
std::string stage_verdict(const Bound& bound, double layers);

}  // namespace tessera::plan
