// Products that share an operand become one.
#include "core/ops/build.h"
#include "core/passes/scan_merge_gates.h"
#include "tests/catch.h"
#include "tests/ops/evaluate.h"
#include "tests/passes/loops.h"

namespace kiln::test {
namespace {

const char* const kAfter = R"(kir 0.1
module ""
%0 = placeholder id=0 name="x" : float64[2,2]
%1 = placeholder id=1 name="x" : float64[3,2,2]
%2 = placeholder id=2 name="x" : float64[2,2]
%3 = placeholder id=3 name="x" : float64[2,2]
%4 = concat %2 %3 axis=1 : float64[2,4]
%5 = scan %4 %0 %1 body={
  parameters int64[], float64[2,4], float64[2,2], float64[2,2]
  %0 = parameter index=2 : float64[2,2]
  %1 = parameter index=1 : float64[2,4]
  %2 = dot %0 %1 lhs=[0,1] rhs=[1,2] result=[0,2] : float64[2,4]
  %3 = slice %2 start=[0,0] limit=[2,2] step=[1,1] : float64[2,2]
  %4 = tanh %3 : float64[2,2]
  %5 = slice %2 start=[0,2] limit=[2,4] step=[1,1] : float64[2,2]
  %6 = mul %4 %5 : float64[2,2]
  %7 = parameter index=3 : float64[2,2]
  %8 = add %6 %7 : float64[2,2]
  results %8
} consts=1 carry=1 xs=1 length=3 reverse=false : float64[2,2]
inputs %0 %1 %2 %3
outputs %5
)";

TEST_CASE("scan_merge_gates joins two products of the carry") {
  const ir::Value c = placeholder(f64({2, 2})), x = placeholder(f64({3, 2, 2}));
  const ir::Value u = placeholder(f64({2, 2})), v = placeholder(f64({2, 2}));
  const Values results = scan({{c}, {x}}, {u, v}, [](const Values& p, const Values& outer) {
    const auto product = [&](const ir::Value& w) {
      return ir::dot(p[1], {0, 1}, w, {1, 2}, {0, 2});
    };
    return Values{ir::unary(ir::Op::Tanh, product(outer[0])) * product(outer[1]) + p[2]};
  });
  check_pass(passes::scan_merge_gates, graph_of({c, x, u, v}, {results[0]}), kAfter);
}

TEST_CASE("scan_merge_gates leaves a single product") {
  const ir::Value c = placeholder(f64({2, 2})), x = placeholder(f64({3, 2, 2}));
  const ir::Value w = placeholder(f64({2, 2}));
  const Values results = scan({{c}, {x}}, {w}, [](const Values& p, const Values& outer) {
    return Values{p[2] + ir::dot(p[1], {0, 1}, outer[0], {1, 2}, {0, 2})};
  });
  check_unchanged(passes::scan_merge_gates, graph_of({c, x, w}, {results[0]}));
}

}  // namespace
}  // namespace kiln::test
