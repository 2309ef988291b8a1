// Kernels run point by point with the scalar meanings of the op table: what emitters are compared
// with, and what shows that the loop form alone says all that a kernel does.
#pragma once

#include "backends/codegen/host/prepared/kernel_function.h"
#include "backends/codegen/kernel/kernel.h"

#include <memory>

namespace kiln::test {

/// Reads what `arguments` says, once; verifies the kernel first.
void interpret(const codegen::Kernel& kernel, const codegen::KernelArguments& arguments);

/// A kernel made ready; `holder` keeps it.
codegen::KernelFunction interpreted(const codegen::Kernel& kernel,
                                    std::shared_ptr<const void>& holder);

}  // namespace kiln::test
