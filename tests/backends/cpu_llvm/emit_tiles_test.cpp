// Tests emitted tiles against the interpreter: operands that are read across the lanes. The memory
// behind the results is checked, too.
#include "tests/support/catch.h"
#include "tests/backends/cpu_llvm/emitted.h"

using namespace cpu_llvm_test;
using namespace kiln;
using namespace kiln::codegen;
using namespace kiln::test;
using ir::Dim;
using ir::Op;

namespace {

Memory counted(DType dtype, int count) {
  return filled(dtype, whole_numbers(static_cast<std::size_t>(count), -50, 50));
}
Memory ones(DType dtype, int count) {
  return filled(dtype, std::vector<double>(static_cast<std::size_t>(count), 1));
}

/// y[i, j] = x[j, i] for parts of i.
EmitCase transposed(DType dtype, const Dim& rows, const Dim& columns) {
  KernelMaker k("transposed", {rows, columns}, 2);
  const OperandId x = k.input(dtype), y = k.output(dtype);
  k.map({{k.access(y, {columns, 1}), k.load(k.access(x, {1, rows}))}});
  k.kernel.vector_axis = 1;
  return {k.kernel, {}};
}

KernelCall transposed_call(DType dtype, int rows, int columns, int begin, int end) {
  const int all = rows * columns;
  return {{counted(dtype, all), ones(dtype, all + 20)}, {}, begin, end};
}

}  // namespace

TEST_CASE("emitted: whole and partial tiles of every dtype, on parts of the rows") {
  std::vector<EmitCase> cases;
  for (const DType dtype : every_dtype()) {
    for (const int rows : {1, 3, 16, 35}) {
      for (const int columns : {2, 15, 16, 33, 70}) {
        EmitCase one = transposed(dtype, rows, columns);
        one.calls.push_back(transposed_call(dtype, rows, columns, 0, rows));
        one.calls.push_back(transposed_call(dtype, rows, columns, rows / 2, rows));
        cases.push_back(std::move(one));
      }
    }
  }
  check_emitted(cases);
}

TEST_CASE("emitted: blocks of several tiles, sizes known at the call") {
  std::vector<EmitCase> cases;
  for (const DType dtype : {DType::Bool, DType::Float16, DType::Float32, DType::Float64}) {
    const Dim rows = Dim::fresh("rows"), columns = Dim::fresh("columns");
    EmitCase one = transposed(dtype, rows, columns);
    for (const int n : {1, 16, 63, 64, 65, 100, 150}) {
      for (const int m : {1, 8, 16, 40}) {
        KernelCall call = transposed_call(dtype, n, m, 0, n);
        call.sizes = {n, m};
        if (one.kernel.sizes[0] != rows) call.sizes = {m, n};
        one.calls.push_back(std::move(call));
      }
    }
    cases.push_back(std::move(one));
  }
  check_emitted(cases);
}

TEST_CASE("emitted: tiles with other operands, and loops between rows and lanes") {
  // y[i, h, j] = float32 of a[j, h, i] * b[j, i] - row[i] + column[j] + c[i, h, j]
  std::vector<EmitCase> cases;
  for (const int rows : {5, 16, 70}) {
    for (const int columns : {16, 37}) {
      const int between = 3, all = rows * between * columns;
      KernelMaker k("fused", {rows, between, columns}, 3);
      const OperandId a = k.input(DType::Int16), b = k.input(DType::Float32);
      const OperandId row = k.input(DType::Float32), column = k.input(DType::Float32);
      const OperandId c = k.input(DType::Float32), y = k.output(DType::Float32);
      const ExpressionId narrow = k.load(k.access(a, {1, rows, between * rows}));
      const ExpressionId wide = k.convert(DType::Float32, narrow);
      const ExpressionId product = k.apply(Op::Mul, {wide, k.load(k.access(b, {1, 0, rows}))});
      const ExpressionId less = k.apply(Op::Sub, {product, k.load(k.access(row, {1, 0, 0}))});
      const ExpressionId more = k.apply(Op::Add, {less, k.load(k.access(column, {0, 0, 1}))});
      const std::vector<Dim> plain{between * columns, columns, 1};
      const ExpressionId sum = k.apply(Op::Add, {more, k.load(k.access(c, plain))});
      k.map({{k.access(y, plain), sum}});
      k.kernel.vector_axis = 2;
      const DType f = DType::Float32;
      cases.push_back({k.kernel,
                       {{{counted(DType::Int16, all), counted(f, rows * columns), counted(f, rows),
                          counted(f, columns), counted(f, all), ones(f, all + 20)},
                         {},
                         0,
                         rows}}});
    }
  }
  check_emitted(cases);
}

TEST_CASE("emitted: tiles of columns that go backwards") {
  const int rows = 40, columns = 50;
  KernelMaker k("backwards", {rows, columns}, 2);
  const OperandId x = k.input(DType::Int32), y = k.output(DType::Int32);
  const AccessId from = k.access(x, {1, -rows}, (columns - 1) * rows);
  k.map({{k.access(y, {columns, 1}), k.load(from)}});
  k.kernel.vector_axis = 1;
  check_emitted({{k.kernel, {transposed_call(DType::Int32, rows, columns, 0, rows)}}});
}

TEST_CASE("emitted: a guarded operand is read point by point in a kernel with tiles") {
  // y[i, j] = x[j, i] + (i < j ? z[j, i] : 0), where z ends at its last allowed element
  const int rows = 20, columns = 40, all = rows * columns;
  KernelMaker k("guarded", {rows, columns}, 2);
  const OperandId x = k.input(DType::Float32), z = k.input(DType::Float32);
  const OperandId y = k.output(DType::Float32);
  const ExpressionId allowed = k.apply(Op::Less, {k.axis(0), k.axis(1)});
  const AccessId from = k.guard(k.access(z, {1, rows}), allowed);
  const ExpressionId sum = k.apply(Op::Add, {k.load(k.access(x, {1, rows})), k.load(from)});
  k.map({{k.access(y, {columns, 1}), sum}});
  k.kernel.vector_axis = 1;
  const DType f = DType::Float32;
  check_emitted(
      {{k.kernel, {{{counted(f, all), counted(f, all), ones(f, all + 20)}, {}, 0, rows}}}});
}
