// Records what is compiled, for tests that give the same kernels to other compilers.
#pragma once

#include "tests/codegen/parse_kernel.h"

namespace kiln::fake_cuda {

/// Writes each kernel, with its schedule and without its name and origin, to a file of the folder
/// that KILN_TEST_RECORD_KERNELS names. Kernels with equal code have the same file. Without the
/// variable, does nothing. Throws std::runtime_error for a file that cannot be written. Processes
/// and threads may share the folder.
void record_kernels(const std::vector<test::ParsedKernel>& kernels);

}  // namespace kiln::fake_cuda
