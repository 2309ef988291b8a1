// Products of inputs leave the loop.
#include "core/ops/build.h"
#include "core/passes/scan_batch_inputs.h"
#include "tests/catch.h"
#include "tests/ops/evaluate.h"
#include "tests/passes/loops.h"

namespace kiln::test {
namespace {

const char* const kAfter = R"(kir 0.1
module ""
%0 = placeholder id=0 name="x" : float64[2,2]
%1 = placeholder id=1 name="x" : float64[3,2,4]
%2 = placeholder id=2 name="x" : float64[4,2]
%3 = dot %1 %2 lhs=[0,1,2] rhs=[2,3] result=[0,1,3] : float64[3,2,2]
%4 = scan %0 %1 %3 body={
  parameters int64[], float64[2,2], float64[2,4], float64[2,2]
  %0 = parameter index=1 : float64[2,2]
  %1 = parameter index=3 : float64[2,2]
  %2 = add %0 %1 : float64[2,2]
  %3 = tanh %2 : float64[2,2]
  results %3
} consts=0 carry=1 xs=2 length=3 reverse=false : float64[2,2]
inputs %0 %1 %2
outputs %4
)";

TEST_CASE("scan_batch_inputs multiplies all steps at once") {
  const ir::Value c = placeholder(f64({2, 2})), x = placeholder(f64({3, 2, 4}));
  const ir::Value w = placeholder(f64({4, 2}));
  const Values results = scan({{c}, {x}}, {w}, [](const Values& p, const Values& outer) {
    return Values{ir::unary(ir::Op::Tanh, p[1] + ir::dot(p[2], {0, 1}, outer[0], {1, 2}, {0, 2}))};
  });
  check_pass(passes::scan_batch_inputs, graph_of({c, x, w}, {results[0]}), kAfter);
}

TEST_CASE("scan_batch_inputs leaves a product of the carry") {
  const ir::Value c = placeholder(f64({2, 2})), x = placeholder(f64({3, 2, 2}));
  const ir::Value w = placeholder(f64({2, 2}));
  const Values results = scan({{c}, {x}}, {w}, [](const Values& p, const Values& outer) {
    return Values{p[2] + ir::dot(p[1], {0, 1}, outer[0], {1, 2}, {0, 2})};
  });
  check_unchanged(passes::scan_batch_inputs, graph_of({c, x, w}, {results[0]}));
}

}  // namespace
}  // namespace kiln::test
