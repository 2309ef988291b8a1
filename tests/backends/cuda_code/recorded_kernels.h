// Collects the kernels that test programs compile for a GPU, as the fake NVRTC records them.
#pragma once

#include "tests/backends/codegen/parse_kernel.h"
#include "tests/support/scratch.h"

#include <vector>

namespace kiln::testing {

/// A test program of build/bin that runs on `cuda` and the fakes.
struct RecordedProgram {
  std::string name;            // "test_ops"
  std::string filter;          // of test cases, quoted for sh
  std::string settings = "";  // assignments of variables
};
/// Runs the program with additional settings, and checks that it succeeds.
void run_on_fakes(const RecordedProgram& program, const std::string& settings);

/// Distinct kernels, and loops that are one kernel, sorted by name.
struct RecordedKernels {
  std::vector<test::ParsedKernel> kernels;
  std::vector<codegen::RowLoop> loops;
};
/// Each that the programs compile.
RecordedKernels record_kernels(const std::vector<RecordedProgram>& programs);

/// The test programs, each with all of its tests.
std::vector<RecordedProgram> all_programs();

}  // namespace kiln::testing
