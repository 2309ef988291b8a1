// What changes before fusion: sums around a mean, masks of relu.
#include "tests/catch.h"

#include "backends/codegen/passes.h"
#include "core/ir/traverse.h"
#include "core/ops/build.h"

#include <algorithm>

using namespace kiln;
using namespace kiln::codegen;
using ir::Dims;
using ir::Ints;
using ir::Op;
using ir::Value;

namespace {

Value input(const Dims& dims) {
  static std::int64_t id = 950;
  return ir::make(Op::Placeholder, ir::PlaceholderAttrs{id++, "x", {DType::Float32, dims}}, {});
}

Value mean(const Value& x, const Ints& axes, double count) {
  return ir::broadcast_over(ir::reduce_sum(x, axes) / count, x.dims(), axes);
}

long count(const std::vector<Value>& results, Op op) {
  const auto nodes = ir::topological_order(results);
  return std::count_if(nodes.begin(), nodes.end(),
                       [&](const ir::Node* node) { return node->op == op; });
}

}  // namespace

TEST_CASE("sums of deviations from a mean over the same axes are zeros") {
  const Value x = input({4, 3, 5}), scale = input({5});
  const Ints axes{0, 1};
  const Value deviation = x - mean(x, axes, 12);
  const Value scaled = -(deviation * ir::broadcast(scale, x.dims(), {2}) + deviation);
  const auto left = [&](const Value& value, const Ints& along) {
    return count(drop_centered_sums({ir::reduce_sum(value, along)}, nullptr), Op::Sum);
  };
  CHECK(left(deviation, axes) == 0);
  CHECK(left(scaled, axes) == 0);
  CHECK(left(deviation, {0}) == 2);                       // other axes
  CHECK(left(x - mean(x, axes, 11), axes) == 2);          // no mean
  CHECK(left(x - mean(input({4, 3, 5}), axes, 12), axes) == 2);  // that of another tensor
  CHECK(left(deviation * x, axes) == 2);                  // a scale that varies along the axes
  CHECK(left(deviation * deviation, axes) == 2);
}

TEST_CASE("a mask of relu of a product is made from relu's result") {
  const Value x = input({4, 3}), w = input({3, 5}), dy = input({4, 5});
  const Value product = ir::dot(x, {0, 1}, w, {1, 2}, {0, 2});
  const Value zero = ir::zeros_like(product);
  const Value mask = ir::less_equal_to(product, zero);
  const Value relu = ir::select(mask, zero, product), gradient = ir::select(mask, zero, dy);
  const std::vector<Value> results = share_relu_masks({relu, gradient}, nullptr);
  CHECK(results[0] == relu);
  const Value& made = results[1].node->operands[0];
  REQUIRE(made.node->op == Op::LessEqual);
  CHECK(made.node->operands[0] == relu);
  // Of anything but a product it stays.
  const Value other = ir::less_equal_to(dy, zero), y = ir::select(other, zero, dy);
  const std::vector<Value> same{y, ir::select(other, zero, product)};
  CHECK(share_relu_masks(same, nullptr) == same);
}
