// Tests every row of the op table: values against formulas, types, gradients against differences.
#include "tests/support/catch.h"
#include "tests/core/module/module_text.h"
#include "tests/core/ops/case.h"
#include "tests/core/ops/evaluate.h"

#include "core/autodiff/vjp.h"
#include "core/module/module.h"
#include "core/module/parse.h"
#include "core/module/print.h"
#include "core/module/read.h"
#include "core/module/write.h"
#include "core/ops/build.h"
#include "core/types/text.h"

#include <cmath>

using namespace kiln;
using namespace kiln::test;
using ir::Value;

namespace {

std::string name_of(const Case& row) { return std::string(def(row.op).name); }

std::vector<Value> parameters_of(const Case& row) {
  std::vector<Value> parameters;
  for (const ir::Type& type : row.operands) parameters.push_back(placeholder(type));
  return parameters;
}

std::vector<Array> feeds_of(const Case& row, unsigned seed) {
  std::mt19937_64 generator(seed);
  std::vector<Array> feeds;
  for (const ir::Type& type : row.operands) {
    feeds.push_back(random_array(generator, type, row.low, row.high));
  }
  return feeds;
}

/// sum over all floating results of result * random weight: a scalar with a random upstream
/// gradient.
Value weighted_sum(const std::vector<Value>& results, std::mt19937_64& generator) {
  Value total;
  for (const Value& result : results) {
    if (!is_float(result.dtype())) continue;
    const Array weights = random_array(generator, result.type(), -1, 1);
    const auto* bytes = static_cast<const std::byte*>(weights.data());
    const Value constant = ir::constant(result.type(), {bytes, bytes + weights.bytes()});
    total = ir::add_cotangents(total, ir::reduce_sum(result * constant, ir::all_axes(result)));
  }
  return total;
}

double scalar(const std::vector<Value>& x, const Value& y, const std::vector<Array>& feeds) {
  return doubles(evaluate(x, {y}, feeds)[0])[0];
}

/// Compares the directional derivative of scalar y with central differences.
void check_gradient(const Case& row, const std::vector<Value>& x, const Value& y,
                    std::mt19937_64& generator, int order) {
  INFO(name_of(row) << " order " << order);
  const Value one = ir::like(y, 1);
  const std::vector<Value> dx = autodiff::vjp({&y, 1}, {&one, 1}, x).dx;
  const std::vector<Array> feeds = feeds_of(row, 7);
  std::vector<Array> directions, ahead, behind;
  Value slope;
  constexpr double kStep = 1e-5;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const Array direction = random_array(generator, row.operands[i], -1, 1);
    Array up = feeds[i], down = feeds[i];
    const auto d = direction.as<double>();
    const auto u = up.as<double>(), v = down.as<double>();
    for (std::size_t k = 0; k < d.size(); ++k) {
      if (!dx[i]) continue;  // an operand without a gradient stays constant
      u[k] += kStep * d[k];
      v[k] -= kStep * d[k];
    }
    ahead.push_back(up);
    behind.push_back(down);
    if (!dx[i]) continue;
    CHECK(dx[i].type() == x[i].type());
    const auto* bytes = static_cast<const std::byte*>(direction.data());
    const Value constant = ir::constant(x[i].type(), {bytes, bytes + direction.bytes()});
    slope = ir::add_cotangents(slope, ir::reduce_sum(dx[i] * constant, ir::all_axes(dx[i])));
  }
  if (!slope) {  // linear in every operand: only at a higher order
    CHECK(order > 1);
    return;
  }
  const double expected = (scalar(x, y, ahead) - scalar(x, y, behind)) / (2 * kStep);
  const double actual = scalar(x, slope, feeds);
  CHECK(actual == Approx(expected).epsilon(1e-5).margin(row.tolerance));
  if (order < row.gradient_order) check_gradient(row, x, slope, generator, order + 1);
}

}  // namespace

TEST_CASE("op table: one row per op") {
  const std::vector<Case> table = cases();
  REQUIRE(table.size() == ir::all_ops().size());
  for (std::size_t i = 0; i < table.size(); ++i) {
    CHECK(static_cast<std::size_t>(table[i].op) == i);
    CHECK((table[i].formula != nullptr || *table[i].instead != '\0'));
  }
}

TEST_CASE("forward values agree with their formulas") {
  for (const Case& row : cases()) {
    if (!row.formula) continue;
    INFO(name_of(row));
    const std::vector<Value> x = parameters_of(row);
    const std::vector<Value> y = row.build(x);
    const std::vector<Array> feeds = feeds_of(row, 3);
    const std::vector<Array> results = evaluate(x, y, feeds);
    std::vector<std::vector<double>> lists;
    for (const Array& feed : feeds) lists.push_back(doubles(feed));
    const std::vector<double> expected = row.formula(lists), actual = doubles(results[0]);
    REQUIRE(actual.size() == expected.size());
    for (std::size_t i = 0; i < actual.size(); ++i) {
      CHECK(actual[i] == Approx(expected[i]).epsilon(1e-12).margin(1e-13));
    }
    for (std::size_t i = 0; i < y.size(); ++i) CHECK(type_of(results[i]) == y[i].type());
  }
}

TEST_CASE("gradients agree with finite differences") {
  for (const Case& row : cases()) {
    if (!row.build || row.gradient_order == 0 || row.operands.empty()) continue;
    std::mt19937_64 generator(11);
    const std::vector<Value> x = parameters_of(row);
    check_gradient(row, x, weighted_sum(row.build(x), generator), generator, 1);
  }
}

TEST_CASE("op table: results and gradients after the passes are the oracle's") {
  for (const Case& row : cases()) {
    if (!row.build) continue;
    INFO(name_of(row));
    std::mt19937_64 generator(5);
    const std::vector<Value> x = parameters_of(row);
    std::vector<Value> y = row.build(x);
    if (row.gradient_order > 0 && !row.operands.empty()) {
      const Value sum = weighted_sum(y, generator), one = ir::like(sum, 1);
      for (const Value& dx : autodiff::vjp({&sum, 1}, {&one, 1}, x).dx) {
        if (dx) y.push_back(dx);
      }
    }
    const std::vector<Array> feeds = feeds_of(row, 9);
    const std::vector<Array> expected = evaluate(x, y, feeds, "reference", false);
    for (const bool optimise : {false, true}) {
      INFO((optimise ? "after the passes" : "as written"));
      const std::vector<Array> actual = evaluate(x, y, feeds, tested_backend(), optimise);
      for (std::size_t i = 0; i < y.size(); ++i) {
        CHECK(difference(actual[i], expected[i], 1e-12, 1e-12) == "");
      }
    }
  }
}

TEST_CASE("op table: modules round-trip in bytes and in text") {
  for (const Case& row : cases()) {
    if (!row.build) continue;
    INFO(name_of(row));
    ir::Graph graph;
    graph.inputs = parameters_of(row);
    graph.outputs = row.build(graph.inputs);
    const module::Encoded first = module::write_module(module::make_module(graph));
    const module::Module back = module::read_module(first.bytes, first.constants);
    CHECK(module::write_module(back).bytes == first.bytes);
    CHECK(difference_of_readers(back) == "");
    const std::string text = module::print_module(module::make_module(graph));
    CHECK(module::print_module(module::parse_module(text)) == text);
  }
}

TEST_CASE("op table: dtypes outside of the definition are rejected") {
  for (const Case& row : cases()) {
    const ir::OpDef& d = def(row.op);
    const bool mixes = row.op == ir::Op::Select || row.op == ir::Op::ScatterSub;
    if (d.arity < 1 || d.attrs != ir::attrs_kind<ir::NoAttrs>() || mixes) continue;
    for (int i = 0; i < kDTypeCount; ++i) {
      const auto dtype = static_cast<DType>(i);
      INFO(d.name << " of " << dtype_name(dtype));
      const std::vector<Value> operands(static_cast<std::size_t>(d.arity),
                                        placeholder({dtype, {2}}));
      if (d.dtypes & ir::dtype_bit(dtype)) {
        CHECK_NOTHROW(ir::make(row.op, ir::NoAttrs{}, operands));
      } else {
        CHECK_THROWS_AS(ir::make(row.op, ir::NoAttrs{}, operands), TypeError);
      }
    }
  }
}

TEST_CASE("op table: dtypes outside of the definition are rejected for ops with attributes") {
  std::size_t rejected = 0;
  for (const Case& row : cases()) {
    const ir::OpDef& d = def(row.op);
    if (!row.build || row.operands.empty() || d.attrs == ir::attrs_kind<ir::NoAttrs>() ||
        d.dtypes == ir::kAnyDType) {
      continue;
    }
    const ir::NodeRef node = row.build(parameters_of(row))[0].node;
    REQUIRE(node->op == row.op);
    for (int i = 0; i < kDTypeCount; ++i) {
      const auto dtype = static_cast<DType>(i);
      if (d.dtypes & ir::dtype_bit(dtype)) continue;
      INFO(d.name << " of " << dtype_name(dtype));
      std::vector<Value> operands = node->operands;
      const ir::Type given = operands[0].type();
      for (Value& operand : operands) {  // so that operands agree
        if (operand.dtype() == given.dtype) operand = placeholder({dtype, operand.type().dims});
      }
      CHECK_THROWS_AS(ir::make_node(row.op, node->attrs, operands), TypeError);
      ++rejected;
    }
  }
  CHECK(rejected > 0);
}
