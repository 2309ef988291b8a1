// Builds the kernels, with calls on their first rows.
#include "tests/backends/cpu_llvm/large_kernels.h"

namespace cpu_llvm_test {

using namespace kiln;
using namespace kiln::codegen;
using namespace kiln::test;
using ir::Dim;
using ir::Op;

cpu::CpuSchedule schedule_of(const Kernel& kernel, cpu::Isa isa) {
  const cpu::CpuDescription description = cpu::description_of(cpu::target_of(isa));
  cpu::CpuSchedule schedule = cpu::schedule_cpu(kernel, description);
  verify(kernel, schedule, description);
  return schedule;
}

EmitCase centred(DType dtype, int rows, int columns, int stride) {
  KernelMaker k("centred", {rows, columns}, 1);
  const OperandId x = k.input(dtype), y = k.output(dtype), all = k.output(dtype, /*read=*/true);
  const ExpressionId value = k.load(k.access(x, {stride, 1}));
  const StageId sum = k.reduce(Combiner::Sum, value);
  const ExpressionId less = k.apply(Op::Sub, {value, k.result(sum)});
  k.map({{k.access(y, {stride, 1}), less}, {k.access(all, {0, 1}), value, /*accumulate=*/true}});
  k.kernel.vector_axis = 1;
  EmitCase one{k.kernel, {}};
  for (const int begin : {0, 2}) {
    one.calls.push_back({{whole_memory(dtype, kRun * stride),
                          whole_memory(dtype, kRun * stride + 9), whole_memory(dtype, columns)},
                         {},
                         begin,
                         kRun});
  }
  return one;
}

EmitCase rewritten(DType dtype, int rows, int columns, int stride, int offset) {
  KernelMaker k("rewritten", {rows, columns}, 1);
  const DType wide = dtype == DType::BFloat16 ? kF32 : dtype;  // of the arithmetic
  const auto converted = [&](DType from, DType to, ExpressionId value) {
    return from == to ? value : k.convert(to, value);
  };
  const OperandId x = k.input(dtype), y = k.output(dtype, /*read=*/true);
  const ExpressionId value = converted(dtype, wide, k.load(k.access(x, {stride, 1})));
  const ExpressionId odd = k.apply(Op::Add, {k.apply(Op::Add, {value, value}), k.number(wide, 1)});
  const AccessId access = k.access(y, {stride, 1}, offset);
  const StageId sum = k.reduce(Combiner::Sum, odd, {{access, converted(wide, dtype, odd)}});
  const ExpressionId again = converted(dtype, wide, k.load(access));
  const ExpressionId less = k.apply(Op::Sub, {again, k.result(sum)});
  k.map({{access, converted(wide, dtype, less)}});
  k.kernel.vector_axis = 1;
  EmitCase one{k.kernel, {}};
  for (const int begin : {0, 3}) {
    one.calls.push_back(
        {{whole_memory(dtype, kRun * stride), whole_memory(dtype, kRun * stride + 9)},
         {},
         begin,
         kRun});
  }
  return one;
}

EmitCase down_columns(int inner, int columns) {
  KernelMaker k("down_columns", {kRows, columns, inner}, 2);
  const OperandId x = k.input(kF32), y = k.output(kF32), last = k.output(kF32);
  const std::vector<Dim> plain{inner * columns, 1, columns};
  const ExpressionId value = k.load(k.access(x, plain));
  const StageId sum = k.reduce(Combiner::Sum, value);
  const ExpressionId index = k.convert(kF32, k.axis(2));
  k.map({{k.access(y, plain), k.apply(Op::Add, {value, index})}});
  k.map({{k.access(last, {columns, 1, 0}), k.result(sum)}}, /*inner=*/false);
  k.kernel.vector_axis = 1;
  const int all = kRun * inner * columns;
  return {
      k.kernel,
      {{{whole_memory(kF32, all), whole_memory(kF32, all + 9), whole_memory(kF32, kRun * columns)},
        {},
        0,
        kRun}}};
}

EmitCase transposed(int rows, int columns, DType dtype, int begin, int end) {
  KernelMaker k("transposed", {rows, columns}, 2);
  const OperandId x = k.input(dtype), y = k.output(dtype);
  k.map({{k.access(y, {columns, 1}), k.load(k.access(x, {1, rows}))}});
  k.kernel.vector_axis = 1;
  return {k.kernel,
          {{{whole_memory(dtype, rows * columns), whole_memory(dtype, end * columns + 9)},
            {},
            begin,
            end}}};
}

EmitCase tanh_of_rows(int columns, int stride, int rows) {
  KernelMaker k("tanh", {rows, columns}, 2);
  const OperandId x = k.input(kF32), y = k.output(kF32);
  const ExpressionId value = k.load(k.access(x, {columns * stride, stride}));
  k.map({{k.access(y, {columns, 1}), k.apply(Op::Tanh, {value})}});
  k.kernel.vector_axis = 1;
  return {k.kernel,
          {{{whole_memory(kF32, kRun * columns * stride), whole_memory(kF32, kRun * columns + 9)},
            {},
            0,
            kRun}},
          /*units=*/4};
}

}  // namespace cpu_llvm_test
