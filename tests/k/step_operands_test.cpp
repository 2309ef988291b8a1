// Tests which operands of a step count as rows of samples: c is used in many ways, with an input x.
#include "tests/support/catch.h"

#include "core/k/base/tensor_impl.h"
#include "core/k/sequence/step_operands.h"

namespace kiln::test {
namespace {

using ir::Value;

Value input(ir::Dims dims) { return fresh_placeholder({DType::Float32, std::move(dims)}, ""); }

/// x is [4,4]; c is [4,4].
struct UseRow {
  const char* name;
  Value (*result)(const Value& x, const Value& c);
  bool is_rows = true;
};

const UseRow kUses[] = {
    {"nothing", [](const Value&, const Value& c) { return c; }},
    {"sum", [](const Value& x, const Value& c) { return x + c; }},
    {"a sum of sums",
     [](const Value& x, const Value& c) { return c * (x + ir::unary(ir::Op::Tanh, c)); }},
    {"stopped", [](const Value& x, const Value& c) { return x * ir::stop_gradient(c); }},
    {"columns reduced", [](const Value&, const Value& c) { return ir::reduce_sum(c, {1}); }},
    {"rows reduced", [](const Value&, const Value& c) { return ir::reduce_sum(c, {0}); }, false},
    {"rows reduced and spread",
     [](const Value& x, const Value& c) {
       return x + ir::broadcast_over(ir::reduce_sum(c, {0}), x.dims(), {0});
     },
     false},
    {"columns reduced and spread",
     [](const Value& x, const Value& c) {
       return x + ir::broadcast_over(ir::reduce_max(c, {1}), x.dims(), {1});
     }},
    {"softmax of columns", [](const Value&, const Value& c) { return ir::softmax(c, 1); }},
    {"softmax of rows", [](const Value&, const Value& c) { return ir::softmax(c, 0); }, false},
    {"transposed", [](const Value& x, const Value& c) { return x + ir::permute(c, {1, 0}); },
     false},
    {"transposed twice",
     [](const Value& x, const Value& c) {
       return ir::permute(ir::permute(x, {1, 0}) * ir::permute(c, {1, 0}), {1, 0});
     }},
    {"itself and transposed",
     [](const Value& x, const Value& c) { return x * c + ir::permute(c, {1, 0}); }, false},
    {"a row sliced",
     [](const Value& x, const Value& c) {
       return x + ir::broadcast(ir::slice_axis(c, 0, 0, 1), x.dims(), {0, 1});
     },
     false},
    {"a column sliced",
     [](const Value& x, const Value& c) {
       return x + ir::broadcast(ir::slice_axis(c, 1, 0, 1), x.dims(), {0, 1});
     }},
    {"rows reversed", [](const Value&, const Value& c) { return ir::reverse(c, {0}); }, false},
    {"columns reversed", [](const Value&, const Value& c) { return ir::reverse(c, {1}); }},
    {"reshaped rows", [](const Value&, const Value& c) { return ir::reshape(c, {4, 2, 2}); }},
    {"rows reshaped",
     [](const Value&, const Value& c) { return ir::reshape(ir::reshape(c, {16}), {4, 4}); }, false},
    {"columns joined", [](const Value& x, const Value& c) { return ir::concat({x, c}, 1); }},
    {"rows joined",
     [](const Value& x, const Value& c) { return ir::slice_axis(ir::concat({x, c}, 0), 0, 0, 4); },
     false},
    {"weights",
     [](const Value& x, const Value& c) { return ir::dot(x, {0, 1}, c, {1, 2}, {0, 2}); }, false},
    {"weights transposed",
     [](const Value& x, const Value& c) { return ir::dot(x, {0, 1}, c, {2, 1}, {0, 2}); }, false},
    {"keys", [](const Value& x, const Value& c) { return ir::dot(x, {0, 1}, c, {0, 1}, {0}); }},
    {"weighted",
     [](const Value& x, const Value& c) { return ir::dot(c, {0, 1}, x, {1, 2}, {0, 2}); }},
    {"a table",
     [](const Value& x, const Value& c) {
       return ir::gather(c, ir::reduce_max(ir::cast(x, DType::Int32), {1}));
     },
     false},
    {"indices",
     [](const Value& x, const Value& c) { return ir::gather(x, ir::cast(c, DType::Int32), 0); }},
    {"rows of a table by columns",
     [](const Value& x, const Value& c) {
       return ir::gather(c, ir::reduce_max(ir::cast(x, DType::Int32), {0, 1}), 1);
     }},
    {"rows cumulated",
     [](const Value&, const Value& c) { return ir::make(ir::Op::CumSum, ir::AxisAttrs{0}, {c}); },
     false},
    {"columns cumulated",
     [](const Value&, const Value& c) { return ir::make(ir::Op::CumSum, ir::AxisAttrs{1}, {c}); }},
};

}  // namespace

TEST_CASE("rnn: rows of samples are found by how a step uses them") {
  for (const UseRow& row : kUses) {
    INFO(row.name);
    const Value x = input({4, 4});
    const Value c = input({4, 4});
    ir::Trace trace;
    std::vector<Value> results;
    {
      const ir::Trace::Scope tracing(trace);
      results = {row.result(x, c)};
    }
    const StepOperands operands = operands_of_step(results, std::vector<Value>{x}, trace);
    CHECK(operands.rows == (row.is_rows ? std::vector<Value>{c} : std::vector<Value>{}));
    CHECK(operands.shared == (row.is_rows ? std::vector<Value>{} : std::vector<Value>{c}));
  }
}

TEST_CASE("rnn: an operand of the step before its nodes is one of its own") {
  const Value x = input({4, 4}), w = input({4, 4});
  const Value c = input({4});
  const Value outside = ir::unary(ir::Op::Tanh, c);
  ir::Trace trace;
  std::vector<Value> results;
  {
    const ir::Trace::Scope tracing(trace);
    const Value product = ir::dot(x, {0, 1}, w, {1, 2}, {0, 2});
    results = {product + ir::broadcast(outside, x.dims(), {0}), ir::reduce_sum(w, {1})};
  }
  const StepOperands operands = operands_of_step(results, std::vector<Value>{x}, trace);
  CHECK(operands.rows == std::vector<Value>{outside});
  CHECK(operands.shared == std::vector<Value>{w});
}

}  // namespace kiln::test
