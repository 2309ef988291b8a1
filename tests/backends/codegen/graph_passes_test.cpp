// Tests graph passes: row updates, relu mask reuse, and results that loops stack twice.
#include "tests/support/catch.h"

#include "backends/codegen/graph/merge_loop_results.h"
#include "backends/codegen/graph/share_relu_masks.h"
#include "backends/codegen/graph/update_rows.h"
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

class RowUpdates final : public LibraryClaims {
 public:
  std::optional<std::string> rejection_of_row_update(const ir::Node&) const override {
    return std::nullopt;
  }
};

/// An embedding table, its indices, and the summed updates of its rows.
struct Embedding {
  Value table = input({9, 4});
  Value indices = ir::cast(input({5}), DType::Int32);
  Value updates = input({5, 4});
  Value sums = ir::scatter_add(indices, updates, 0, 9);

  /// results[0], the new value of the table, after update_rows.
  Value updated(const std::vector<Value>& results, const LibraryClaims* library) const {
    return update_rows(results, {table}, {{0, 0}}, library)[0];
  }
};

}  // namespace

TEST_CASE("update_rows: a variable minus or plus scaled sums of rows is updated by rows") {
  const RowUpdates library;
  const Embedding e;
  const Value rate = input({}), all = ir::broadcast_to(rate, e.table.dims());
  const Value one = ir::scalar_constant(DType::Float32, 1);
  const auto rows = [&](const Value& by) {
    return ir::scatter_sub(e.table, by, e.indices, e.updates);
  };
  CHECK(e.updated({e.table - e.sums * all}, &library) == rows(rate));
  CHECK(e.updated({e.table - all * e.sums}, &library) == rows(rate));
  CHECK(e.updated({e.table - e.sums}, &library) == rows(one));
  CHECK(e.updated({e.table + e.sums * all}, &library) == rows(ir::neg(rate)));
  CHECK(e.updated({e.sums * all + e.table}, &library) == rows(ir::neg(rate)));
  CHECK(e.updated({e.table - e.sums * all}, nullptr) == e.table - e.sums * all);
}

TEST_CASE("update_rows: a table that is looked up twice is updated by the rows of both") {
  const RowUpdates library;
  const Embedding e;
  const Value pairs = ir::cast(input({3, 2}), DType::Int32), of_pairs = input({3, 2, 4});
  const Value sums = e.sums + ir::scatter_add(pairs, of_pairs, 0, 9);
  const Value rate = input({}), all = ir::broadcast_to(rate, e.table.dims());
  const Value both =
      ir::scatter_sub(e.table, rate, ir::concat({e.indices, ir::reshape(pairs, {6})}, 0),
                      ir::concat({e.updates, ir::reshape(of_pairs, {6, 4})}, 0));
  CHECK(e.updated({e.table - sums * all}, &library) == both);
  const Value wide = ir::scatter_add(ir::cast(pairs, DType::Int64), of_pairs, 0, 9);
  const std::vector<std::vector<Value>> unchanged{
      {e.table - (e.sums + wide) * all},  // indices of two dtypes
      {e.table - sums * all, sums},       // is an output, too
      {e.table - (e.sums + e.sums) * all},
      {e.table - (e.sums + input({9, 4})) * all},
  };
  for (const std::vector<Value>& results : unchanged) {
    INFO("case " << &results - unchanged.data());
    CHECK(e.updated(results, &library) == results[0]);
  }
}

TEST_CASE("update_rows: other updates than those of a variable's own rows stay") {
  const RowUpdates library;
  const Embedding e;
  const Value other = input({9, 4});
  const Value all = ir::broadcast_to(input({}), e.table.dims());
  const Value scaled = e.sums * all, next = e.table - scaled;
  const Value columns = ir::scatter_add(ir::cast(input({5}), DType::Int32), input({9, 5}), 1, 4);
  const std::vector<std::vector<Value>> unchanged{
      {next, next},                    // is an output, too
      {next, ir::neg(next)},           // has another reader
      {next, scaled},
      {next, e.sums},
      {other - scaled},                // of another variable
      {scaled - e.table},
      {e.table - e.sums * other},      // not scaled by a scalar
      {e.table - columns * all},       // columns, not rows
      {e.table * scaled},
  };
  for (const std::vector<Value>& results : unchanged) {
    INFO("case " << &results - unchanged.data());
    CHECK(e.updated(results, &library) == results[0]);
  }
}

TEST_CASE("share_relu_masks: the mask of relu of a matmul is computed from relu's result") {
  const Value x = input({4, 3}), w = input({3, 5}), dy = input({4, 5});
  const Value matmul = ir::dot(x, {0, 1}, w, {1, 2}, {0, 2});
  const Value zero = ir::zeros_like(matmul);
  const Value mask = ir::less_equal_to(matmul, zero);
  const Value relu = ir::select(mask, zero, matmul), gradient = ir::select(mask, zero, dy);
  const std::vector<Value> results = share_relu_masks({relu, gradient}, nullptr);
  CHECK(results[0] == relu);
  const Value& new_mask = results[1].node->operands[0];
  REQUIRE(new_mask.node->op == Op::LessEqual);
  CHECK(new_mask.node->operands[0] == relu);
  // A mask of any other value stays.
  const Value other = ir::less_equal_to(dy, zero), y = ir::select(other, zero, dy);
  const std::vector<Value> same{y, ir::select(other, zero, matmul)};
  CHECK(share_relu_masks(same, nullptr) == same);
}

TEST_CASE("merge_loop_results: a value that a loop stacks under several shapes is stacked once") {
  const ir::Dim n = ir::Dim::fresh("n"), m = ir::Dim::fresh("m"), steps = ir::Dim::fresh("t");
  const Value initial = input({n, 3}), xs = input({steps, n, 3});
  const ir::LambdaBuilder body({{DType::Int64, {}}, initial.type(), {DType::Float32, {n, 3}}});
  const auto& p = body.parameters();
  const Value next = ir::binary(Op::Add, p[1], p[2]);
  const Value other = ir::reshape(next, {m, 3}), twice = ir::binary(Op::Add, next, next);
  const auto closure = body.close({next, next, twice, other, ir::identity(twice)}, 1, {});
  const ir::NodeRef scan = ir::make_scan(closure, {initial}, {xs}, steps, false);
  const std::vector<Value> written = ir::results_of(scan);

  const std::vector<Value> found = merge_loop_results(written, nullptr);
  REQUIRE(found.size() == 5);
  const ir::NodeRef new_scan = found[1].node;
  CHECK(new_scan->types.size() == 3);
  CHECK(found[0] == new_scan->result(0));
  CHECK(found[1] == new_scan->result(1));
  CHECK(found[2] == new_scan->result(2));
  REQUIRE(found[3].node->op == Op::Reshape);
  CHECK(found[3].node->operands[0] == new_scan->result(1));
  CHECK(found[4] == new_scan->result(2));
  for (std::size_t i = 0; i < found.size(); ++i) CHECK(found[i].type() == written[i].type());
  CHECK(merge_loop_results(found, nullptr) == found);
}
