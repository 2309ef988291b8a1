// The machine, and the head of the report: what the results depend on.
#pragma once

namespace kiln::bench {

/// The number of processors that this process may use; 0 if it is not known.
int allowed_processors();

/// Prints the date, the processor, the memory, the version of Kiln, and the backend in use with
/// the details of its plugin, such as the ISA of its kernels. Throws BackendError.
void print_machine();

}  // namespace kiln::bench
