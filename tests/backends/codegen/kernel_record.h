// Writes and reads files of the kernels that programs compile, for tests that give the same kernels
// to other compilers.
#pragma once

#include "tests/backends/codegen/parse_kernel.h"

namespace kiln::test {

/// A kernel with its schedule, without its name and origin.
struct KernelRecord {
  std::string name;  // a C identifier: the same for all kernels with equal code
  std::string text;  // the kernel's lines, then the schedule's
};
KernelRecord record_of(const ParsedKernel& parsed);

/// Of a loop that is one kernel, without the names of its kernels.
KernelRecord record_of(const codegen::RowLoop& loop);
/// Whether the text is of a loop.
bool is_loop_record(const std::string& text);

/// Parses KernelRecord::text. The kernel's name is that of its record. Throws std::runtime_error.
ParsedKernel read_record(const std::string& text);
codegen::RowLoop read_loop_record(const std::string& text);

/// Writes the records of the kernels to files of the folder that KILN_TEST_RECORD_KERNELS names,
/// one for each name. Without the variable, does nothing. Throws std::runtime_error for a file that
/// cannot be written. Processes and threads may share the folder.
void record_kernels(const std::vector<ParsedKernel>& kernels,
                    const std::vector<codegen::RowLoop>& loops);

}  // namespace kiln::test
