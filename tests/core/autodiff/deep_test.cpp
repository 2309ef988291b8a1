// Tests that depth needs no stack: a chain of a million nodes is differentiated, optimised and
// printed on a thread with a 256 KiB stack, in time linear in its length.
#include "tests/support/deep.h"

#include "core/autodiff/vjp.h"
#include "core/ir/intern.h"
#include "core/ir/traverse.h"
#include "core/module/print.h"
#include "core/ops/build.h"
#include "core/passes/pipeline.h"
#include "runtime/function/compile/build_graph.h"

#include <kiln/k.h>

#include <stdexcept>

using namespace kiln;
using ir::Value;

namespace {

constexpr std::size_t kLength = 1'000'000;

void require(bool holds, const char* what) {
  if (!holds) throw std::logic_error(what);
}

}  // namespace

TEST_CASE("deep graphs: a million nodes are differentiated and optimised in linear time",
          "[slow]") {
  const std::size_t before = ir::live_node_count();
  test::check_linear(kLength, [](std::size_t length, test::Laps& laps) {
    const Value x =
        ir::make(ir::Op::Placeholder, ir::PlaceholderAttrs{77, "x", {DType::Float32, {2}}}, {});
    Value y = x;
    for (std::size_t i = 0; i < length; ++i) y = ir::unary(ir::Op::Sin, y);
    laps.end("build");
    const Value one = ir::like(y, 1);
    auto dx = autodiff::vjp({&y, 1}, {&one, 1}, {&x, 1}).dx;
    laps.end("differentiate");
    require(dx[0] && dx[0].type() == x.type(), "the gradient has another type");
    const ir::Graph graph{{x}, {y}, {}};
    require(passes::run_pipeline(graph) == graph, "a pass changed the chain");
    laps.end("optimise");
    dx.clear();
    laps.end("the gradient dies");
  });
  CHECK(ir::live_node_count() == before);
}

TEST_CASE("deep graphs: a million K calls are differentiated, printed and freed", "[slow]") {
  const std::size_t before = ir::live_node_count();
  test::check_linear(kLength, [](std::size_t length, test::Laps& laps) {
    const Tensor x = placeholder({.shape = {None, 2}, .name = "x"});
    ir::Graph graph;
    {
      Tensor y = x;
      for (std::size_t i = 0; i < length / 2; ++i) y = sin(y) + x;
      laps.end("build");
      const Tensor slope = gradients(sum(y), {x})[0];
      laps.end("differentiate");
      graph = runtime::build_graph({x}, {y, slope}, {});
    }
    require(module::print_graph(graph).size() > 100 * length, "the text is too short");
    laps.end("print");
    graph = {};
    laps.end("die");
  });
  CHECK(ir::live_node_count() == before);
}

TEST_CASE("deep graphs: a loop over a deep body is differentiated in linear time", "[slow]") {
  const std::size_t before = ir::live_node_count();
  test::check_linear(20'000, [](std::size_t length, test::Laps& laps) {
    const Tensor x = placeholder({.shape = {None, 2}, .name = "x"});
    const auto step = [&](const Tensor& carry, const Tensor& row) {
      Tensor y = carry;
      for (std::size_t i = 0; i < length / 2; ++i) y = sin(y) + row;
      return y;
    };
    const Tensor last = foldl(step, x);
    laps.end("build");
    const Tensor slope = gradients(sum(last), {x})[0];
    laps.end("differentiate");
    ir::Graph graph = runtime::build_graph({x}, {last, slope}, {});
    graph = passes::run_pipeline(graph);
    laps.end("optimise");
  });
  CHECK(ir::live_node_count() == before);
}
