// Tests the verifier on graphs that each violate one rule.
#include "tests/support/catch.h"
#include "tests/core/module/programs.h"

#include "core/ir/intern.h"
#include "core/module/verify.h"
#include "core/ops/build.h"
#include "core/ops/lambda_builder.h"

using namespace kiln;
using namespace kiln::ir;

namespace {

std::string error_of(const Graph& graph) { return module::verify(graph).value_or("none"); }

const Type kPair{DType::Float32, {2}};

/// A scan over a count alone, whose body returns `result` and takes `parameters`.
Value scan_giving(const Value& result, std::vector<Type> parameters, const Value& start) {
  auto lambda = std::make_shared<Lambda>();
  lambda->parameters = std::move(parameters);
  lambda->results = {result};
  return make(Op::Scan, ScanAttrs{{lambda}, 0, 1, 0, 3, false}, {start});
}

Value parameter(std::int64_t index, std::int64_t scope, const Type& type) {
  return make(Op::Parameter, ParameterAttrs{index, scope, type}, {});
}

}  // namespace

TEST_CASE("verifier: valid programs pass") {
  CHECK_FALSE(module::verify(test::every_op_program()));
  CHECK_FALSE(module::verify(test::small_program()));
  CHECK_FALSE(module::verify(test::nested_program(5)));
}

TEST_CASE("verifier: inputs, updates and outputs") {
  const Value x = test::placeholder("x", kPair), w = test::variable("w", kPair);
  CHECK(error_of({{}, {x + x}, {}}) == "placeholder x is not an input");
  CHECK(error_of({{x, x}, {x}, {}}) == "an input occurs twice");
  CHECK(error_of({{w}, {w}, {}}) == "an input is not a placeholder");
  CHECK(error_of({{x}, {Value{}}, {}}) == "an output is empty");
  CHECK(error_of({{x}, {}, {{x, x}}}) == "an update is not of a variable");
  CHECK(error_of({{x}, {}, {{w, x}, {w, w}}}) == "a variable has two updates");
  CHECK(error_of({{x}, {}, {{w, reduce_sum(x, {0})}}}) ==
        "an update assigns float32[] to a variable of type float32[2]");
  CHECK(error_of({{x}, {}, {{Value{}, x}}}) == "an update is not of a variable");
}

TEST_CASE("verifier: lambdas are closed, and no parameter is outside") {
  const Value start = test::variable("w", kPair), x = test::placeholder("x", kPair);
  const Type step{DType::Int64, {}};
  const Value p = parameter(1, 0, kPair);
  CHECK(error_of({{}, {scan_giving(p, {step, kPair}, start)}, {}}) == "none");
  CHECK(error_of({{}, {p}, {}}) == "a parameter is outside of a lambda");
  CHECK(error_of({{x}, {scan_giving(x, {step, kPair}, start)}, {}}) ==
        "a lambda is not closed (placeholder)");
  CHECK(error_of({{}, {scan_giving(start + p, {step, kPair}, start)}, {}}) ==
        "a lambda is not closed (variable)");
  CHECK(error_of({{}, {scan_giving(parameter(1, 5, kPair), {step, kPair}, start)}, {}}) ==
        "a parameter is not one of its lambda's (parameter)");
  CHECK(error_of({{}, {scan_giving(parameter(2, 0, kPair), {step, kPair}, start)}, {}}) ==
        "a parameter is not one of its lambda's (parameter)");
  const Value other = parameter(0, 0, kPair);
  CHECK(error_of({{}, {scan_giving(other, {step, kPair}, start)}, {}}) ==
        "a parameter is not one of its lambda's (parameter)");
}

TEST_CASE("verifier: every size has a source") {
  const Dim n = Dim::fresh("n"), m = Dim::fresh("m");
  const Value x = test::placeholder("x", {DType::Float32, {n}});
  CHECK(error_of({{x}, {reshape(x, {n, 1})}, {}}) == "none");
  CHECK(error_of({{x}, {dim_size(m)}, {}}) == "size m has no source (dim_size)");
  CHECK(error_of({{x}, {slice(x, {m}, {n})}, {}}).find("size m has no source") == 0);
  CHECK(error_of({{}, {iota({DType::Int32, {m}}, 0)}, {}}) == "size m has no source (iota)");
}

TEST_CASE("verifier: types are inferred again") {
  const Value x = test::placeholder("x", kPair);
  // Interned without the type rule.
  const NodeRef wrong = intern(Op::Neg, NoAttrs{}, {x}, {{DType::Float32, {3}}}, {});
  CHECK(error_of({{x}, {{wrong, 0}}, {}}) == "types differ (neg)");
}

TEST_CASE("verifier: the state is the set of variables that the graph reads and updates") {
  module::Module program = test::small_program();
  const auto state = program.state;
  program.state.clear();
  CHECK(module::verify(program) == "variable w is not in the state");
  program.state = {state[0], state[0]};
  CHECK(module::verify(program) == "the state has a variable twice");
  program.state = {state[0], {test::variable("v", kPair)}};
  CHECK(module::verify(program) == "the state has a variable that is not used");
  program.state = {{program.graph.inputs[0]}};
  CHECK(module::verify(program) == "the state has an entry that is not a variable");
}
