// Tests in which loops scan_hoist_invariants leaves ops that may fail.
#include "core/passes/scan_hoist_invariants.h"

#include "core/ir/traverse.h"
#include "core/ops/build.h"
#include "core/ops/lambda_builder.h"
#include "tests/support/catch.h"

namespace kiln::test {
namespace {

ir::Value module_input(ir::Type type) {
  static std::int64_t next = 1 << 20;
  return ir::make(ir::Op::Placeholder, ir::PlaceholderAttrs{next++, "x", std::move(type)}, {});
}

/// The number of gathers in the body of map_fn of e * gather(w, 1) after the pass.
std::size_t gathers_in_body(const ir::Dim& length, bool guarded) {
  using namespace ir;
  const Type row{DType::Float32, {2}};
  const Value xs = module_input({DType::Float32, {length, 2}});
  const Value w = module_input({DType::Float32, {guarded ? Dim::fresh("n") : Dim(3), 2}});
  const LambdaBuilder builder({{DType::Int64, {}}, row});
  Trace trace;
  const Value y = [&] {
    const Trace::Scope tracing(trace);
    const Value kept = guarded ? slice_axis(w, 0, 1, 2) : gather(w, dim_size(1), 0);
    return builder.parameters()[1] * reshape(kept, {2});
  }();
  const NodeRef scan =
      make_scan(builder.close({y}, 1, capture_policy(trace, length)), {}, {xs}, length, false);
  const Graph graph{{xs, w}, {{scan, 0}}, {}};
  const Graph after = passes::scan_hoist_invariants(graph);
  std::size_t count = 0;
  for_each_lambda(*after.outputs[0].node, [&](const Lambda& body) {
    for (const Node* node : topological_order(body.results)) {
      count += node->op == Op::Gather || node->op == Op::Slice;
    }
  });
  return count;
}

TEST_CASE("scan_hoist_invariants leaves ops that may fail in a loop that may have no steps") {
  for (const bool guarded : {false, true}) {
    CHECK(gathers_in_body(ir::Dim::fresh("t"), guarded) == 1);
    CHECK(gathers_in_body(ir::Dim::fresh("t") + 1, guarded) == 0);
    CHECK(gathers_in_body(4, guarded) == 0);
  }
}

}  // namespace
}  // namespace kiln::test
