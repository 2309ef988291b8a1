// Launches that run the text of their kernels, compiled for the host, instead of the interpreter.
#pragma once

#include "tests/backends/codegen/parse_kernel.h"
#include "tests/backends/cuda_fakes/driver/library.h"

namespace kiln::fake_cuda {

/// Finds the emulated text of the kernel in the libraries of the folder that
/// KILN_TEST_EMULATED_KERNELS names. Without the variable, does nothing. Throws std::runtime_error
/// where no library has it; the interpreter runs kernels whose seeds are not those of the folder.
void use_emulation(const test::ParsedKernel& parsed, LoadedKernel& kernel);
/// The same for a loop that is one kernel.
void use_emulation(const codegen::RowLoop& loop, LoadedKernel& kernel);

/// The text's functions, compiled for the host once per process. Throws InternalError.
const test::EmulatedKernels* emulation_of(const std::string& text);

/// LaunchFailed, with the reason on standard error, for an access outside of live memory, a data
/// race, and a barrier that not all threads reach.
Status run_emulation(const LoadedKernel& kernel, const LaunchParameters& parameters,
                     const std::vector<std::byte*>& operands, codegen::CallBlock* call,
                     test::ThreadOrder order);

}  // namespace kiln::fake_cuda
