// Tests the shorter code of kernels over few points: the vectors of their loops, the passes that
// code generation leaves out, and that results are the interpreter's.
#include "tests/support/catch.h"
#include "tests/backends/cpu_llvm/compiled_math.h"
#include "tests/backends/cpu_llvm/emitted.h"

#include "backends/cpu/llvm/code/kernel_compiler.h"
#include "backends/cpu/schedule/kernel_work.h"
#include "core/types/text.h"

#include <algorithm>

using namespace cpu_llvm_test;
using namespace kiln;
using namespace kiln::codegen;
using namespace kiln::test;
using cpu::CodeGeneration;
using cpu::ParametricCode;

namespace {

constexpr int kManyRows = 1 << 18;

/// The sums of columns and of their squares, lanes along the columns.
Kernel column_sums(const ir::Dim& columns, const ir::Dim& rows) {
  KernelMaker k("column_sums", {columns, rows}, 1);
  if (!columns.is_static()) add_size(k.kernel, columns);
  const OperandId x = k.input(kF32), y = k.output(kF32), z = k.output(kF32);
  const ExpressionId value = k.load(k.access(x, {1, columns}));
  const StageId sum = k.reduce(Combiner::Sum, value);
  const StageId squares = k.reduce(Combiner::Sum, k.apply(ir::Op::Mul, {value, value}));
  k.map({{k.access(y, {1, 0}), k.result(sum)}}, /*inner=*/false);
  k.map({{k.access(z, {1, 0}), k.result(squares)}}, /*inner=*/false);
  k.kernel.vector_axis = 0;
  return k.kernel;
}

/// y = tanh(x - mean of the row), lanes along the row.
Kernel tanh_of_centred(int rows, int columns) {
  KernelMaker k("tanh_of_centred", {rows, columns}, 1);
  const OperandId x = k.input(kF32), y = k.output(kF32);
  const ExpressionId value = k.load(k.access(x, {columns, 1}));
  const StageId sum = k.reduce(Combiner::Sum, value);
  const ExpressionId centred = k.apply(ir::Op::Sub, {value, k.result(sum)});
  k.map({{k.access(y, {columns, 1}), k.apply(ir::Op::Tanh, {centred})}});
  k.kernel.vector_axis = 1;
  return k.kernel;
}

std::string ir_of(const Kernel& kernel) {
  std::shared_ptr<const void> code;
  cpu::CompileTexts texts;
  texts.wanted = true;
  cpu::compile_kernels({{kernel, {}, {}, {}}}, {targets_here().back()}, code, texts);
  return texts.ir;
}

/// Whether the IR has an instruction on that many vectors of float32.
bool has(const std::string& ir, const std::string& instruction, int vectors) {
  const int lanes = vectors * targets_here().back().vector_bytes / 4;
  return ir.find(text(instruction, " <", lanes, " x float>")) != std::string::npos;
}

CodeGeneration generation_of(const Kernel& kernel) {
  const BuiltKernels one{{kernel, {}, {}, {}}};
  return cpu::plan_codes(one, targets_here().back(), ParametricCode::Never, 1).codes[0].generation;
}

}  // namespace

TEST_CASE("short code: lanes of few outer points take one vector") {
  const int lanes = targets_here().back().vector_bytes / 4;
  const std::string few = ir_of(column_sums(10 * lanes, 9));
  CHECK(has(few, "fadd", 1));
  CHECK_FALSE((has(few, "fadd", 2) || has(few, "fadd", 4) || has(few, "fadd", 8)));
  const std::string many = ir_of(column_sums(10 * lanes, kManyRows));
  CHECK((has(many, "fadd", 4) || has(many, "fadd", 8)));
  CHECK_FALSE(has(many, "fadd", 1));
}

TEST_CASE("short code: maps of few points take one vector where reductions take several") {
  const int lanes = targets_here().back().vector_bytes / 4;
  const std::string few = ir_of(tanh_of_centred(9, 8 * lanes));
  CHECK(has(few, "fadd", 4));
  CHECK(has(few, "fdiv", 1));
  CHECK_FALSE(has(few, "fdiv", 4));
  CHECK(has(ir_of(tanh_of_centred(kManyRows, 8 * lanes)), "fdiv", 4));
}

TEST_CASE("short code: results are the interpreter's for every rest of lanes") {
  std::vector<EmitCase> cases;
  for (const int columns : {1, 31, 32, 33, 47, 64, 100, 129, 160}) {
    EmitCase sums{column_sums(columns, 9), {}};
    for (const int begin : {0, 1, 17}) {
      if (begin >= columns) continue;
      sums.calls.push_back({{whole_memory(kF32, 9 * columns), whole_memory(kF32, columns),
                             whole_memory(kF32, columns)},
                            {},
                            begin,
                            columns});
    }
    cases.push_back(std::move(sums));
    cases.push_back(
        {tanh_of_centred(9, columns),
         {{{whole_memory(kF32, 9 * columns), whole_memory(kF32, 9 * columns)}, {}, 0, 9}},
         /*units=*/4});
  }
  check_emitted(cases);
}

TEST_CASE("short code: parts of whole vectors have a rest only where the extent has one") {
  const int lanes = targets_here().back().vector_bytes / 4;
  const auto has_rest = [](Kernel kernel, std::int64_t multiple) {
    kernel.part_multiple = multiple;
    return ir_of(kernel).find("\nrest:") != std::string::npos;
  };
  CHECK_FALSE(has_rest(column_sums(10 * lanes, 9), 64));
  CHECK(has_rest(column_sums(10 * lanes, 9), 1));
  CHECK(has_rest(column_sums(10 * lanes, 9), lanes / 2));
  CHECK(has_rest(column_sums(10 * lanes + 1, 9), 64));
  CHECK(has_rest(column_sums(ir::Dim::fresh("n"), 9), 64));
  std::vector<EmitCase> cases;
  for (const int columns : {3, 64, 100, 128, 160, 192}) {
    EmitCase sums{column_sums(columns, 9), {}};
    sums.kernel.part_multiple = 64;
    for (int begin = 0; begin < columns; begin += 64) {
      for (const int end : {std::min(begin + 64, columns), columns}) {
        sums.calls.push_back({{whole_memory(kF32, 9 * columns), whole_memory(kF32, columns),
                               whole_memory(kF32, columns)},
                              {},
                              begin,
                              end});
      }
    }
    cases.push_back(std::move(sums));
  }
  check_emitted(cases);
}

TEST_CASE("short code: few points get quick code generation, many and unknown ones all passes") {
  CHECK(generation_of(column_sums(64, 9)) == CodeGeneration::Quick);
  CHECK(generation_of(column_sums(64, 0)) == CodeGeneration::Quick);
  CHECK(generation_of(column_sums(1 << 14, (1 << 4) - 1)) == CodeGeneration::Quick);
  CHECK(generation_of(column_sums(1 << 14, 1 << 4)) == CodeGeneration::Full);
  CHECK(generation_of(column_sums(std::int64_t{1} << 40, 1 << 30)) == CodeGeneration::Full);
  CHECK(generation_of(column_sums(ir::Dim::fresh("n"), 9)) == CodeGeneration::Full);
}

TEST_CASE("short code: kernels with the same instructions share code of the same passes alone") {
  const auto copied = [](int rows) {
    KernelMaker k("copied", {rows, 48}, 2);
    const OperandId x = k.input(kF32), y = k.output(kF32);
    k.map({{k.access(y, {48, 1}), k.load(k.access(x, {48, 1}))}});
    k.kernel.vector_axis = 1;
    return k.kernel;
  };
  BuiltKernels kernels;
  for (const int rows : {8, 9, 6000, 6001}) {
    kernels.push_back({copied(rows), {}, {}, {}});
    kernels.back().kernel.name = text("kernel", kernels.size());
  }
  const cpu::CodePlan plan =
      cpu::plan_codes(kernels, targets_here().back(), ParametricCode::WhereShared, 1);
  REQUIRE(plan.codes.size() == 2);
  CHECK(plan.uses[KernelId(0)].code == plan.uses[KernelId(1)].code);
  CHECK(plan.uses[KernelId(2)].code == plan.uses[KernelId(3)].code);
  CHECK(plan.codes[0].generation == CodeGeneration::Quick);
  CHECK(plan.codes[1].generation == CodeGeneration::Full);
}

TEST_CASE("short code: LLVM has every pass that quick code generation leaves out") {
  compile_adder("adder", 1);  // registers the passes
  for (const std::string_view pass : cpu::passes_left_out()) {
    INFO(pass);
    CHECK(llvm_has_pass(pass));
  }
  CHECK_FALSE(llvm_has_pass("no-such-pass"));
}
