// Kernels that test programs compile for a GPU, recorded by the fake NVRTC.
#pragma once

#include "tests/codegen/parse_kernel.h"
#include "tests/scratch.h"

#include <vector>

namespace kiln::testing {

/// A test program of build/bin that runs on `cuda` and the fakes.
struct RecordedProgram {
  std::string name;            // "test_ops"
  std::string filter;          // of test cases, quoted for sh
  std::string settings = "";  // assignments of variables
};
/// Runs the program with more settings, and checks that it succeeds.
void run_on_fakes(const RecordedProgram& program, const std::string& settings);

/// Each distinct kernel that the programs compile, sorted by name.
std::vector<test::ParsedKernel> record_kernels(const std::vector<RecordedProgram>& programs);

/// The test programs, whole.
std::vector<RecordedProgram> all_programs();

}  // namespace kiln::testing
