// What changes before fusion: masks of relu.
#include "tests/catch.h"

#include "backends/codegen/graph/passes.h"
#include "core/ops/build.h"

using namespace kiln;
using namespace kiln::codegen;
using ir::Dims;
using ir::Op;
using ir::Value;

namespace {

Value input(const Dims& dims) {
  static std::int64_t id = 950;
  return ir::make(Op::Placeholder, ir::PlaceholderAttrs{id++, "x", {DType::Float32, dims}}, {});
}

}  // namespace

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
