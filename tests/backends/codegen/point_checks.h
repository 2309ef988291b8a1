// Runs kernels without inner axes, as text and by the interpreter of schedules.
#pragma once

#include "tests/backends/codegen/grid_emulation.h"
#include "tests/backends/codegen/make_kernel.h"

#include <string>
#include <vector>

namespace kiln::test {

/// Numbers below 23, the same in every dtype; bools are mixed.
Memory numbers(DType dtype, std::int64_t count, int first = 0);

/// A kernel and memory for it.
struct Run {
  codegen::Kernel kernel;
  KernelCall call;
};

/// Compiles all at once and checks, in three orders of threads, that the text with the operands at
/// each of `shifts` (see GridStep) and the interpreter of schedules leave what the interpreter of
/// kernels leaves, in every byte.
void check_runs(const std::vector<Run>& runs, const codegen::GridDescription& device,
                const std::vector<std::vector<std::int64_t>>& shifts = {{0}});

/// Values of Kernel::sizes: `rows` for the symbol of that name, `columns` for all others.
std::vector<std::int64_t> sizes_of(const codegen::Kernel& kernel, std::int64_t rows,
                                   std::int64_t columns);

/// The printed schedule.
std::string schedule_of(const codegen::Kernel& kernel,
                        const codegen::GridDescription& device = kSmallDevice);

}  // namespace kiln::test
