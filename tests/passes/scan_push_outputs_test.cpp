// Sums that no later step reads are taken after the loop.
#include "core/ops/build.h"
#include "core/passes/scan_push_outputs.h"
#include "tests/catch.h"
#include "tests/ops/evaluate.h"
#include "tests/passes/loops.h"

namespace kiln::test {
namespace {

const char* const kAfter = R"(kir 0.1
module ""
%0 = placeholder id=0 name="x" : float64[2,2]
%1 = placeholder id=1 name="x" : float64[2,2]
%2 = placeholder id=2 name="x" : float64[3,2,2]
%3 = scan %0 %2 body={
  parameters int64[], float64[2,2], float64[2,2]
  %0 = parameter index=1 : float64[2,2]
  %1 = parameter index=2 : float64[2,2]
  %2 = mul %0 %1 : float64[2,2]
  %3 = tanh %2 : float64[2,2]
  results %3 %0
} consts=0 carry=1 xs=1 length=3 reverse=false : float64[2,2], float64[3,2,2]
%4 = dot %3#1 %2 lhs=[0,1,2] rhs=[0,1,3] result=[2,3] : float64[2,2]
%5 = add %1 %4 : float64[2,2]
inputs %0 %1 %2
outputs %3#0 %5
)";

TEST_CASE("scan_push_outputs takes the sum of products after the loop") {
  const ir::Value c = placeholder(f64({2, 2})), sum = placeholder(f64({2, 2}));
  const ir::Value x = placeholder(f64({3, 2, 2}));
  const Values results = scan({{c, sum}, {x}}, {}, [](const Values& p, const Values&) {
    return Values{ir::unary(ir::Op::Tanh, p[1] * p[3]),
                  p[2] + ir::dot(p[1], {0, 1}, p[3], {0, 2}, {1, 2})};
  });
  check_pass(passes::scan_push_outputs, graph_of({c, sum, x}, {results[0], results[1]}), kAfter);
}

TEST_CASE("scan_push_outputs leaves a sum that the loop reads") {
  const ir::Value c = placeholder(f64({2, 2})), x = placeholder(f64({3, 2, 2}));
  const Values results = scan({{c}, {x}}, {}, [](const Values& p, const Values&) {
    return Values{p[1] + ir::dot(p[1], {0, 1}, p[2], {0, 2}, {1, 2})};
  });
  check_unchanged(passes::scan_push_outputs, graph_of({c, x}, {results[0]}));
}

}  // namespace
}  // namespace kiln::test
