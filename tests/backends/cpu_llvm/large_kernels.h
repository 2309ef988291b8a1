// Kernels over many points, whose results are large, and their schedules. Calls run a few rows.
#pragma once

#include "tests/backends/cpu_llvm/emitted.h"

#include "backends/cpu/schedule/cpu_schedule.h"

#include <string>

namespace cpu_llvm_test {

/// The rows of a kernel, and of a call.
inline constexpr int kRows = 1 << 17, kRun = 5;

/// Verified.
kiln::cpu::CpuSchedule schedule_of(const kiln::codegen::Kernel& kernel,
                                   kiln::cpu::Isa isa = kiln::cpu::Isa::Avx512);

/// y = x - sum(x) of each row, and the sums of columns; rows are `stride` elements apart.
EmitCase centred(kiln::DType dtype, int rows, int columns, int stride);

/// y = (2 x + 1) - the sum of that row, by way of 2 x + 1 in y; rows are `stride` elements apart.
EmitCase rewritten(kiln::DType dtype, int rows, int columns, int stride, int offset = 0);

/// y[i, j, k] = x[i, j, k] + the index of the inner axis j, lanes along the outer axis k.
EmitCase down_columns(int inner, int columns);

/// y[i, j] = x[j, i], as tiles.
EmitCase transposed(int rows, int columns, kiln::DType dtype = kiln::DType::Float32, int begin = 0,
                    int end = kRun);

/// y = tanh(x) of rows, x with that stride between elements.
EmitCase tanh_of_rows(int columns, int stride, int rows = kRows);

}  // namespace cpu_llvm_test
