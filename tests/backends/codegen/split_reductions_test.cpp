// Tests which reductions are split, into which parts, and what is fused into their kernels.
#include "tests/support/catch.h"
#include "tests/backends/codegen/lowered.h"
#include "tests/core/ops/evaluate.h"

#include "backends/codegen/fusion/reduction_parts.h"
#include "core/ops/build.h"

using namespace kiln;
using namespace kiln::codegen;
using ir::Dims;
using ir::Value;

namespace {

Value input(Dims dims) { return kiln::test::placeholder({DType::Float32, std::move(dims)}); }

std::vector<Dims> axes_of(const Program& program) {
  std::vector<Dims> list;
  for (const BuiltKernel& built : program.kernels) list.push_back(built.kernel.axes);
  return list;
}

std::vector<Dims> kernels(const Value& x, const std::vector<Value>& results) {
  return axes_of(lowered({x}, results));
}

Value arg_max(const Value& x) { return ir::make(ir::Op::ArgMax, ir::AxisAttrs{0}, {x}); }

}  // namespace

TEST_CASE("split reductions: the parts follow from the sizes") {
  struct Row {
    const char* name;
    Dims domain;
    std::vector<bool> reduced;
    std::optional<std::pair<int, std::int64_t>> parts;  // axis and length
    bool is_body = false;
  };
  const ir::Dim n = ir::Dim::fresh("n");
  const Row rows[] = {
      {"the first axis", {1000, 1000}, {true, true}, {{0, 8}}},
      {"the first axis with parts for all threads", {2, 20000}, {true, true}, {{1, 160}}},
      {"an axis of unknown size, one index each", {n, 100}, {true, true}, {{0, 1}}},
      {"one axis of unknown size", {n}, {true}, {}},
      {"one axis", {1 << 20}, {true}, {{0, 8192}}},
      {"a prime", {40009}, {true}, {}},
      {"little work", {64, 256}, {true, true}, {{0, 1}}},
      {"less work", {64, 255}, {true, true}, {}},
      {"a large prime", {999999937}, {true}, {}},
      {"an empty axis", {0, 100000}, {true, true}, {}},
      {"an empty axis between others of unknown size", {n, 0, n}, {true, true, true}, {}},
      {"few points", {15, 4000}, {false, true}, {{1, 32}}},
      {"points enough", {16, 4000}, {false, true}, {}},
      {"points down columns", {64, 32, 64}, {true, true, false}, {{0, 1}}},
      {"more points down columns than lanes", {64, 32, 513}, {true, true, false}, {}},
      {"points of unknown number", {100000, n}, {true, false}, {}},
      {"a body", {1000, 1000}, {true, true}, {{0, 8}}, true},
      {"rows of a body", {15, 4000}, {false, true}, {}, true},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    const auto parts = reduction_parts(row.domain, row.reduced, {}, row.is_body);
    REQUIRE(parts.has_value() == row.parts.has_value());
    if (parts) CHECK(std::pair(parts->axis, parts->length) == *row.parts);
  }
}

TEST_CASE("split reductions: two kernels") {
  const Value x = input({1000, 1000});
  CHECK(kernels(x, {ir::reduce_sum(x, {0, 1})}) == std::vector<Dims>{{125, 8000}, {125}});
}

TEST_CASE("split reductions: producers and consumers are fused into the two kernels") {
  const Value x = input({1000, 1000});
  const Value y = ir::unary(ir::Op::Exp, x);
  const Value sum = ir::reduce_sum(y, {0, 1}), most = ir::reduce(ir::Op::Max, y, {0, 1});
  CHECK(kernels(x, {y, sum, most * 2.0 + sum}).size() == 2);
}

TEST_CASE("split reductions: a consumer at every point is a kernel of its own") {
  const Value x = input({1000, 1000});
  const Value sum = ir::reduce_sum(x, {0, 1});
  const Value rest = x - ir::broadcast_over(sum, x.dims(), {0, 1});
  CHECK(kernels(x, {rest}).size() == 3);
  const Value again = ir::reduce_sum(rest * rest, {0, 1});
  CHECK(kernels(x, {again}).size() == 4);
}

TEST_CASE("split reductions: an arg_max shares no kernel with a split reduction") {
  const Value x = input({1 << 20});
  CHECK(kernels(x, {arg_max(x), ir::reduce_sum(x, {0})}).size() == 3);
}

TEST_CASE("split reductions: without the step a reduction is one kernel") {
  const Value x = input({1000, 1000});
  Compilation compilation;
  compilation.arguments = {x};
  compilation.results = {ir::reduce_sum(x, {0, 1})};
  PipelineOptions options;
  options.disabled = {"split_reductions"};
  run_pipeline(compilation, options);
  CHECK(axes_of(compilation.program) == std::vector<Dims>{{1000, 1000}});
}
