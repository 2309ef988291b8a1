// Tests rematerialisation: values that are computed again after a split reduction or a library
// call, not stored.
#include "tests/support/catch.h"
#include "tests/backends/codegen/lowered.h"
#include "tests/core/ops/evaluate.h"

#include "core/ops/build.h"

using namespace kiln;
using namespace kiln::codegen;
using ir::Op;
using ir::Value;

namespace {

Value input() { return kiln::test::placeholder({DType::Float32, {1000, 1000}}); }

Value total(const Value& x) {
  return ir::broadcast_over(ir::reduce_sum(x, {0, 1}), x.dims(), {0, 1});
}

/// The gradient of relu.
Value masked(const Value& y, const Value& dy) {
  const Value zero = ir::full(DType::Float32, y.dims(), 0.0);
  return ir::make(Op::Select, {}, {ir::make(Op::LessEqual, {}, {y, zero}), zero, dy});
}

bool stores_temporary(const std::string& plan) {
  return plan.find("temporary float32[1000,1000]") != plan.npos;
}

}  // namespace

TEST_CASE("rematerialisation: after a split reduction, if recomputing reads no more tensors") {
  const Value a = input(), b = input(), c = input();
  const Value scaled = a * 2.0, shared = masked(a * 3.0 + 1.0, b), many = a * b * c;
  const Value costly = ir::unary(Op::Exp, a), transposed = ir::permute(a, {1, 0}) * 2.0;
  const struct {
    const char* name;
    std::vector<Value> results;
    bool is_stored;
  } rows[] = {
      {"one tensor for the value", {scaled * total(scaled)}, false},
      {"another tensor beside one that is read anyway", {shared + a * total(shared)}, false},
      {"two tensors for the value", {shared * total(shared)}, true},
      {"three tensors for the value, one of them read anyway", {many + a * total(many)}, true},
      {"an exponential", {costly * total(costly)}, true},
      {"a value that a view reads, too",
       {scaled * total(scaled), ir::permute(scaled, {1, 0}) * b},
       true},
      {"an operand that is a view", {transposed * total(transposed)}, false},
  };
  for (const auto& row : rows) {
    const std::string plan = print(lowered({a, b, c}, row.results));
    INFO(row.name << "\n" << plan);
    CHECK(stores_temporary(plan) == row.is_stored);
  }
}

TEST_CASE("rematerialisation: reductions of a rematerialised value share one kernel") {
  const Value x = input(), y = input(), dy = input();
  const Value g = masked(y, dy);
  const Value dx = g + x * total(x * g) + total(ir::unary(Op::Neg, g));
  const Program program = lowered({x, y, dy}, {dx});
  INFO(print(program));
  CHECK(program.kernels.size() == 3);  // parts, totals, dx
}

TEST_CASE("rematerialisation: behind a matmul, from its operands and expensive values") {
  const Value a = input(), b = input(), w = input();
  const auto times_w = [&](const Value& x) { return ir::dot(x, {0, 1}, w, {1, 2}, {0, 2}); };
  const Value h = times_w(a), cubic = h + h * h * h, tanh = ir::unary(Op::Tanh, cubic);
  const Value both = h * b;
  const struct {
    const char* name;
    Value stored_by_matmul, result;  // the result reads the matmul's, too
    int temporaries;  // matrices that are stored: those of the two matmuls, operands, others
  } rows[] = {
      {"cheap values of the other matmul's result", tanh, cubic * (h * 2.0), 3},
      {"cheap values of an expensive one", tanh, (tanh + 1.0) * (1.0 - tanh * tanh), 3},
      {"both", h * (tanh + 1.0), (1.0 - tanh * tanh) * (cubic * 3.0), 4},
      {"a value of two matrices", ir::unary(Op::Tanh, both), both * 2.0, 4},
  };
  const EveryMatmul library;
  for (const auto& row : rows) {
    const std::string plan =
        print(lowered({a, b, w}, {times_w(row.stored_by_matmul) * row.result}, &library));
    INFO(row.name << "\n" << plan);
    int temporaries = 0;
    for (std::size_t at = 0; (at = plan.find("temporary float32[1000,1000]", at)) != plan.npos;
         ++at)
      ++temporaries;
    CHECK(temporaries == row.temporaries);
  }
}
