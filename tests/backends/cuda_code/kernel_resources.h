// Reads from a cubin the registers, local and shared memory that the threads of its kernels need.
#pragma once

#include <map>
#include <string>

namespace kiln::testing {

struct KernelResources {
  int registers = 0;    // of a thread
  int stack_bytes = 0;  // of a thread, in local memory: spilled registers, indexed arrays
  std::int64_t shared_bytes = 0;  // of a block
};

/// The resources of each kernel by its name, from the attributes in section .nv.info and from the
/// sizes of sections .nv.shared.<kernel>. Throws std::runtime_error for anything but a 64-bit ELF
/// file with these attributes.
std::map<std::string, KernelResources> read_kernel_resources(const std::string& cubin);

}  // namespace kiln::testing
