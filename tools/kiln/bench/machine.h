// The head of the report: what the results depend on.
#pragma once

namespace kiln::bench {

/// Prints the date, the processor, the memory, the version of Kiln, and the backend in use with
/// the details of its plugin, such as the ISA of its kernels. Throws BackendError.
void print_machine();

}  // namespace kiln::bench
