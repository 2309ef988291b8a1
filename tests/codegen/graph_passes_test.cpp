// Graph passes: masks of relu, results of loops.
#include "tests/catch.h"

#include "backends/codegen/graph/merge_loop_results.h"
#include "backends/codegen/graph/share_relu_masks.h"
#include "core/ops/build.h"
#include "core/ops/lambda_builder.h"
#include "core/ops/rewrite_graph.h"

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

TEST_CASE("equal values that a loop stacks under several shapes are stacked once") {
  const ir::Dim n = ir::Dim::fresh("n"), m = ir::Dim::fresh("m"), steps = ir::Dim::fresh("t");
  const Value initial = input({n, 3}), xs = input({steps, n, 3});
  const ir::LambdaBuilder body({{DType::Int64, {}}, initial.type(), {DType::Float32, {n, 3}}});
  const auto& p = body.parameters();
  const Value next = ir::binary(Op::Add, p[1], p[2]);
  const Value other = ir::reshape(next, {m, 3}), twice = ir::binary(Op::Add, next, next);
  const auto closed = body.close({next, next, twice, other, ir::identity(twice)}, 1, {});
  const ir::NodeRef scan = ir::make_scan(closed, {initial}, {xs}, steps, false);
  const std::vector<Value> written = ir::results_of(scan);

  const std::vector<Value> found = merge_loop_results(written, nullptr);
  REQUIRE(found.size() == 5);
  const ir::NodeRef made = found[1].node;
  CHECK(made->types.size() == 3);
  CHECK(found[0] == made->result(0));
  CHECK(found[1] == made->result(1));
  CHECK(found[2] == made->result(2));
  REQUIRE(found[3].node->op == Op::Reshape);
  CHECK(found[3].node->operands[0] == made->result(1));
  CHECK(found[4] == made->result(2));
  for (std::size_t i = 0; i < found.size(); ++i) CHECK(found[i].type() == written[i].type());
  CHECK(merge_loop_results(found, nullptr) == found);
}
