// Tests rows that an index of an outer loop chooses: the index is checked once per row, rows out of
// range read zeros, and loops without points check nothing.
#include "tests/support/catch.h"
#include "tests/backends/cpu_llvm/compiled_math.h"
#include "tests/backends/cpu_llvm/emitted.h"

#include "backends/cpu/llvm/code/kernel_compiler.h"

using namespace cpu_llvm_test;
using namespace kiln;
using namespace kiln::codegen;
using namespace kiln::test;
using ir::Dim;

namespace {

constexpr int kLimit = 5;
const std::vector<double> kInside{2, 0, 4, 4, 1, 3, 0};
const std::vector<double> kOutside{2, 0, -1, 4, 9, 3, -2};

/// y[i, j] = table[rows[i], j]; `columns` may be a size of the call.
Kernel gather(DType dtype, const Dim& columns) {
  KernelMaker k("gather", {static_cast<int>(kInside.size()), columns}, 2);
  const OperandId table = k.input(dtype), at = k.input(DType::Int32), y = k.output(dtype);
  const ExpressionId row = k.load(k.access(at, {1, 0}));
  k.map({{k.access(y, {columns, 1}), k.load(k.access_at(table, {0, 1}, row, columns, kLimit))}});
  k.kernel.vector_axis = 1;
  return k.kernel;
}

EmitCase gathered(DType dtype, int columns, const std::vector<double>& rows) {
  const auto count = static_cast<int>(rows.size());
  return {gather(dtype, columns),
          {{{whole_memory(dtype, kLimit * columns), filled(DType::Int32, rows),
             whole_memory(dtype, count * columns + 9)},
            {},
            0,
            count}}};
}

/// y[i] = the sum of table[rows[i, j], k] * other[first, k] over j and k.
EmitCase summed(DType dtype, const std::vector<double>& rows, int first) {
  const int outer = 2, picks = 3, columns = 40;
  KernelMaker k("summed", {outer, picks, columns}, 1);
  const OperandId table = k.input(dtype), at = k.input(DType::Int64), start = k.input(DType::Int64);
  const OperandId y = k.output(dtype);
  const ExpressionId row = k.load(k.access(at, {picks, 1, 0}));
  const ExpressionId one = k.load(k.access(start, {0, 0, 0}));
  const ExpressionId x = k.load(k.access_at(table, {0, 0, 1}, row, columns, kLimit));
  const ExpressionId other = k.load(k.access_at(table, {0, 0, 1}, one, columns, kLimit));
  const StageId sum = k.reduce(Combiner::Sum, k.apply(ir::Op::Mul, {x, other}));
  k.map({{k.access(y, {1, 0, 0}), k.result(sum)}}, /*inner=*/false);
  k.kernel.vector_axis = 2;
  return {k.kernel,
          {{{whole_memory(dtype, kLimit * columns), filled(DType::Int64, rows),
             filled(DType::Int64, {static_cast<double>(first)}), whole_memory(dtype, outer + 9)},
            {},
            0,
            outer}}};
}

/// Bounds checks in the LLVM IR of the kernel.
std::size_t checks(const Kernel& kernel) {
  std::shared_ptr<const void> code;
  cpu::CompileTexts texts;
  texts.wanted = true;
  cpu::compile_kernels({{kernel, {}, {}, {}}}, {targets_here().back()}, code, texts);
  const std::string call = "call void @kiln_record_out_of_range", &ir = texts.ir;
  std::size_t count = 0;
  for (std::size_t i = ir.find(call); i != std::string::npos; i = ir.find(call, i + 1)) ++count;
  return count;
}

}  // namespace

TEST_CASE("checked rows: an index is checked once per row") {
  CHECK(checks(gather(DType::Float32, 133)) == 1);
  CHECK(checks(gather(DType::Float64, 133)) == 1);
  CHECK(checks(gather(DType::Bool, 133)) == 1);
  CHECK(checks(summed(DType::Float32, kInside, 1).kernel) == 2);
  // A row may be empty: checked with each vector, the masked one, too.
  CHECK(checks(gather(DType::Float32, Dim::fresh("columns"))) == 2);
}

TEST_CASE("checked rows: elements of rows in range, zeros of the others") {
  std::vector<EmitCase> cases;
  for (const DType dtype : every_dtype()) {
    for (const int columns : {1, 3, 16, 37, 133}) {
      for (const auto& rows : {kInside, kOutside}) cases.push_back(gathered(dtype, columns, rows));
    }
  }
  check_emitted(cases);
}

TEST_CASE("checked rows: indices of inner loops, and of no loop") {
  std::vector<EmitCase> cases;
  for (const DType dtype : {DType::Float32, DType::Float64, DType::Int32}) {
    for (const auto& rows : {kInside, kOutside}) {
      for (const int first : {0, 4, -1, 5}) cases.push_back(summed(dtype, rows, first));
    }
  }
  check_emitted(cases);
}

TEST_CASE("checked rows: empty rows have no index out of range") {
  std::vector<EmitCase> cases{gathered(DType::Float32, 0, kOutside)};
  const Dim columns = Dim::fresh("columns");
  EmitCase unknown{gather(DType::Float32, columns), {}};
  for (const int count : {0, 21}) {
    EmitCase known = gathered(DType::Float32, count, kOutside);
    known.calls[0].sizes = {count};
    unknown.calls.push_back(known.calls[0]);
  }
  cases.push_back(unknown);
  check_emitted(cases);
}
