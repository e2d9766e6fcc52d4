#include "dist/parallel/buckets.h"

#include <algorithm>
#include <set>

namespace tessera::dist {

Buckets fill_buckets(const nn::Transformer& model, Index bytes, DType dtype) {
  Buckets buckets;
  Index filled = 0;
  nn::Parameters parameters = model.parameters();
  std::ranges::reverse(parameters);
  for (const nn::ParameterPtr& p : parameters) {
    const Index size = p->used.shape.numel() * bytes_of(dtype);
    if (buckets.empty() || filled + size > bytes) {
      buckets.emplace_back();
      filled = 0;
    }
    buckets.back().push_back(p);
    filled += size;
  }
  return buckets;
}

Buckets block_buckets(const nn::Transformer& model) {
  Buckets buckets;
  std::set<nn::ParameterPtr> in_blocks;
  for (auto block = model.blocks.rbegin(); block != model.blocks.rend(); ++block) {
    buckets.push_back((*block)->parameters());
    in_blocks.insert(buckets.back().begin(), buckets.back().end());
  }
  buckets.emplace_back();
  for (const nn::ParameterPtr& p : model.parameters())
    if (!in_blocks.contains(p)) buckets.back().push_back(p);
  return buckets;
}

}  // namespace tessera::dist
