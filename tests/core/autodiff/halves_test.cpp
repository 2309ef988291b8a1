// Tests the sums of cotangents: up to two of a half, and any number of a wider float, are added in
// their dtype; more of a half are added in float32 and rounded once.
#include "tests/support/catch.h"

#include "core/autodiff/vjp.h"
#include "core/ir/traverse.h"
#include "core/ops/build.h"

#include <algorithm>

using namespace kiln;
using ir::Op;
using ir::Value;

namespace {

/// The cotangent of x, which `uses` values use.
Value slope(DType dtype, int uses) {
  const Value x = ir::make(Op::Placeholder, ir::PlaceholderAttrs{78, "x", {dtype, {2}}}, {});
  std::vector<Value> y, dy;
  for (int i = 0; i < uses; ++i) {
    y.push_back(ir::binary(Op::Maximum, x, ir::like(x, i)));
    dy.push_back(ir::like(x, 1));
  }
  return autodiff::vjp(y, dy, {&x, 1}).dx[0];
}

std::vector<std::size_t> casts_and_additions(const Value& root) {
  std::vector<std::size_t> counts{0, 0};
  for (const ir::Node* node : ir::topological_order({&root, 1})) {
    counts[0] += node->op == Op::Cast;
    counts[1] += node->op == Op::Add;
  }
  return counts;
}

}  // namespace

TEST_CASE("cotangents: more than two of a half are added in float32") {
  for (const DType dtype : {DType::Float16, DType::BFloat16, DType::Float32, DType::Float64}) {
    const bool is_half = dtype == DType::Float16 || dtype == DType::BFloat16;
    for (const std::size_t uses : {1, 2, 3, 5}) {
      INFO(dtype_name(dtype) << ", " << uses << " uses");
      const Value dx = slope(dtype, static_cast<int>(uses));
      CHECK(dx.dtype() == dtype);
      const std::size_t casts = is_half && uses > 2 ? uses + 1 : 0;  // of each, and of the sum
      CHECK(casts_and_additions(dx) == std::vector<std::size_t>{casts, uses - 1});
    }
  }
}
