#include "dist/plan/matmul.h"

#include "dist/plan/require.h"

namespace tessera::plan {

MatmulRoofline matmul_roofline(const Hardware& h, double b, double d, double f, const NumberBytes& bytes) {
  require(h.memory_bandwidth > 0, "hardware", "has no memory_bandwidth, expected a rate like 3.35TB/s");
  const double ridge = h.flops / h.memory_bandwidth;
  MatmulRoofline r;
  r.flops = 2 * b * d * f;
  r.bytes = bytes.activation * b * d + bytes.weight * d * f + bytes.output * b * f;
  r.compute_s = r.flops / h.flops;
  r.memory_s = r.bytes / h.memory_bandwidth;
  r.ridge = ridge;
  r.small_critical_rows = bytes.weight * ridge / 2;
  const double gain =
      2 * d * f - ridge * (bytes.activation * d + bytes.output * f);  // per row, in bytes * ridge
  r.critical_rows = gain > 0 ? bytes.weight * ridge * d * f / gain : 0;
  return r;
}

}  // namespace tessera::plan
