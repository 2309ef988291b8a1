// Runs additions at a dynamic index by blocks that own values of the index, as GridSchedule says.
#pragma once

#include "tests/backends/codegen/grid_interpreter.h"
#include "tests/backends/codegen/kernel_run.h"

#include <functional>

namespace kiln::test {

/// Runs units in the order of the call. The run notes indices in `arguments.out_of_range`;
/// record(number) takes each, with the number of its point in the order of plain loops.
void run_owners(const codegen::Kernel& kernel, const codegen::GridSchedule& schedule,
                KernelRun& run, const GridCall& call, const codegen::KernelArguments& arguments,
                const std::function<void(std::int64_t number)>& record);

}  // namespace kiln::test
