// Loops that share their beginning become one.
#include "core/ops/build.h"
#include "core/passes/scan_merge.h"
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
  %2 = mul %0 %1 : float64[2]
  %3 = sub %0 %1 : float64[2]
  results %2 %0 %3
} consts=0 carry=1 xs=1 length=3 reverse=false : float64[2], float64[3,2], float64[3,2]
inputs %0 %1
outputs %2#0 %2#1 %2#2
)";

Values outputs_of(const ir::Value& c, const ir::Value& x, Body body) {
  return scan({{c}, {x}}, {}, body);
}

TEST_CASE("scan_merge makes one loop of two with the same carry") {
  const ir::Value c = placeholder(f64({2})), x = placeholder(f64({3, 2}));
  const Values first = outputs_of(c, x, [](const Values& p, const Values&) {
    return Values{p[1] * p[2], p[1]};
  });
  const Values second = outputs_of(c, x, [](const Values& p, const Values&) {
    return Values{p[1] * p[2], p[1] - p[2]};
  });
  const ir::Graph graph = graph_of({c, x}, {first[0], first[1], second[1]});
  CHECK(count_ops(graph, ir::Op::Scan) == 2);
  CHECK(count_ops(passes::scan_merge(graph), ir::Op::Scan) == 1);
  check_pass(passes::scan_merge, graph, kAfter);
}

TEST_CASE("scan_merge keeps a loop that needs the other") {
  const ir::Value c = placeholder(f64({2})), x = placeholder(f64({3, 2}));
  const Body body = [](const Values& p, const Values&) { return Values{p[1] * p[2], p[1]}; };
  const Values first = outputs_of(c, x, body), second = outputs_of(c, first[1], body);
  check_unchanged(passes::scan_merge, graph_of({c, x}, {second[0], second[1]}));
}

}  // namespace
}  // namespace kiln::test
