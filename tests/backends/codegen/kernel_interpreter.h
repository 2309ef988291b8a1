// Runs kernels point by point with the scalar meanings of the op table. Emitters are compared with
// it; it also shows that the loop form alone defines a kernel.
#pragma once

#include "backends/codegen/host/prepared/kernel_function.h"
#include "backends/codegen/kernel/kernel.h"

#include <memory>

namespace kiln::test {

/// Runs the kernel on `arguments`, whose sizes are read once. Verifies the kernel first.
void interpret(const codegen::Kernel& kernel, const codegen::KernelArguments& arguments);

/// Returns a function that interprets the kernel; `holder` keeps it alive.
codegen::KernelFunction interpreted(const codegen::Kernel& kernel,
                                    std::shared_ptr<const void>& holder);

}  // namespace kiln::test
