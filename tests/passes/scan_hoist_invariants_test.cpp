// What is the same at each step is computed before the loop.
#include "core/ops/build.h"
#include "core/passes/scan_hoist_invariants.h"
#include "tests/catch.h"
#include "tests/ops/evaluate.h"
#include "tests/passes/loops.h"

namespace kiln::test {
namespace {

const char* const kAfter = R"(kir 0.1
module ""
%0 = placeholder id=0 name="x" : float64[2]
%1 = placeholder id=1 name="x" : float64[3,2]
%2 = placeholder id=2 name="x" : float64[2]
%3 = exp %2 : float64[2]
%4 = scan %3 %0 %1 body={
  parameters int64[], float64[2], float64[2], float64[2]
  %0 = parameter index=2 : float64[2]
  %1 = parameter index=3 : float64[2]
  %2 = mul %0 %1 : float64[2]
  %3 = parameter index=1 : float64[2]
  %4 = add %2 %3 : float64[2]
  results %4
} consts=1 carry=1 xs=1 length=3 reverse=false : float64[2]
inputs %0 %1 %2
outputs %4
)";

TEST_CASE("scan_hoist_invariants computes once what does not change") {
  const ir::Value c = placeholder(f64({2})), x = placeholder(f64({3, 2}));
  const ir::Value w = placeholder(f64({2}));
  // Closed by hand: a builder captures what is invariant as a whole.
  const ir::LambdaBuilder body({{DType::Int64, {}}, f64({2}), f64({2}), f64({2})});
  const Values& p = body.parameters();
  const auto closed = body.close({p[2] * p[3] + ir::unary(ir::Op::Exp, p[1])}, 1);
  const ir::ScanAttrs attrs{{closed.lambda}, 1, 1, 1, 3, false};
  const ir::NodeRef loop = ir::make_node(ir::Op::Scan, attrs, {w, c, x});
  check_pass(passes::scan_hoist_invariants, graph_of({c, x, w}, {{loop, 0}}), kAfter);
}

TEST_CASE("scan_hoist_invariants leaves a body that always changes") {
  const ir::Value c = placeholder(f64({2})), x = placeholder(f64({3, 2}));
  const Values results = scan({{c}, {x}}, {}, [](const Values& p, const Values&) {
    return Values{p[1] * p[2]};
  });
  check_unchanged(passes::scan_hoist_invariants, graph_of({c, x}, {results[0]}));
}

}  // namespace
}  // namespace kiln::test
