// Carries, inputs and outputs that nobody reads go.
#include "core/ops/build.h"
#include "core/passes/scan_drop_unused.h"
#include "tests/catch.h"
#include "tests/ops/evaluate.h"
#include "tests/passes/loops.h"

namespace kiln::test {
namespace {

const char* const kAfter = R"(kir 0.1
module ""
%0 = placeholder id=0 name="x" : float64[2]
%1 = placeholder id=1 name="x" : float64[2]
%2 = placeholder id=2 name="x" : float64[3,2]
%3 = placeholder id=3 name="x" : float64[3,2]
%4 = scan %0 %2 body={
  parameters int64[], float64[2], float64[2]
  %0 = parameter index=1 : float64[2]
  %1 = parameter index=2 : float64[2]
  %2 = mul %0 %1 : float64[2]
  results %2 %0
} consts=0 carry=1 xs=1 length=3 reverse=false : float64[2], float64[3,2]
inputs %0 %1 %2 %3
outputs %4#0 %4#1
)";

TEST_CASE("scan_drop_unused drops a carry, an input and an output") {
  const ir::Value c = placeholder(f64({2})), d = placeholder(f64({2}));
  const ir::Value x = placeholder(f64({3, 2})), y = placeholder(f64({3, 2}));
  const Values results = scan({{c, d}, {x, y}}, {}, [](const Values& p, const Values&) {
    return Values{p[1] * p[3], p[2] + p[4], p[1], p[2]};
  });
  check_pass(passes::scan_drop_unused, graph_of({c, d, x, y}, {results[0], results[2]}), kAfter);
}

TEST_CASE("scan_drop_unused keeps what is read") {
  const ir::Value c = placeholder(f64({2})), x = placeholder(f64({3, 2}));
  const Values results = scan({{c}, {x}}, {}, [](const Values& p, const Values&) {
    return Values{p[1] * p[2], p[1]};
  });
  check_unchanged(passes::scan_drop_unused, graph_of({c, x}, {results[0], results[1]}));
}

}  // namespace
}  // namespace kiln::test
