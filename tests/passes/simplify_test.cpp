// Rules fire everywhere, inside of bodies too.
#include "core/ops/build.h"
#include "core/passes/simplify.h"
#include "tests/catch.h"
#include "tests/ops/evaluate.h"
#include "tests/passes/loops.h"

namespace kiln::test {
namespace {

const char* const kAfter = R"(kir 0.1
module ""
%0 = placeholder id=0 name="x" : float64[2]
%1 = placeholder id=1 name="x" : float64[3,2]
%2 = scan %0 %1 body={
  parameters int64[], float64[2], float64[2]
  %0 = parameter index=1 : float64[2]
  %1 = parameter index=2 : float64[2]
  %2 = add %0 %1 : float64[2]
  results %2
} consts=0 carry=1 xs=1 length=3 reverse=false : float64[2]
inputs %0 %1
outputs %2
)";

TEST_CASE("simplify rewrites inside of loops and outside") {
  const ir::Value c = placeholder(f64({2})), x = placeholder(f64({3, 2}));
  const Values results = scan({{c}, {x}}, {}, [](const Values& p, const Values&) {
    return Values{-(-p[1]) * 1.0 + p[2]};
  });
  check_pass(passes::simplify, graph_of({c, x}, {results[0] - 0.0}), kAfter);
}

TEST_CASE("simplify leaves what no rule fits") {
  const ir::Value x = placeholder(f64({2}));
  check_unchanged(passes::simplify, graph_of({x}, {x * ir::unary(ir::Op::Exp, x)}));
}

}  // namespace
}  // namespace kiln::test
