// A compiled kernel, and what it is called with.
#pragma once

#include <cstddef>
#include <cstdint>

namespace kiln::codegen {

/// An index that was outside of its axis. access is -1 when there was none.
struct KernelFault {
  std::int64_t access = -1;
  std::int64_t index = 0;
  std::int64_t limit = 0;
};

/// The arguments of compiled code: plain memory, read by generated code too, so that the fields'
/// order is part of the contract with emitters. It works on indices [begin, end) of axis 0 (of the
/// one point, when there are no outer axes: then begin is 0 and end 1). Extents of outer axes are
/// above 0; those of inner axes may be 0 (a reduction then gives what it starts with), and so may a
/// dynamic_limit (every index is then a fault).
struct KernelArguments {
  std::byte* const* buffers = nullptr;     // one per operand
  const std::int64_t* sizes = nullptr;     // one per Kernel::sizes
  std::int64_t begin = 0, end = 0;
  KernelFault* fault = nullptr;            // the first fault seen stays
  std::uint64_t seed = 0, call_counter = 0;  // for Random
};

/// A compiled kernel.
struct KernelFunction {
  void (*run)(const void* context, const KernelArguments* arguments) = nullptr;
  const void* context = nullptr;  // whatever `run` needs; machine code needs nothing
};

}  // namespace kiln::codegen
