// A compiled kernel and its arguments.
#pragma once

#include "backends/codegen/kernel/ids.h"

#include <cstddef>
#include <cstdint>

namespace kiln::codegen {

/// A dynamic index outside of [0, limit). `access`: its number in Kernel::accesses; -1: none.
struct IndexOutOfRange {
  std::int64_t access = -1;
  std::int64_t index = 0;
  std::int64_t limit = 0;
};

/// The arguments of compiled code, which also reads them directly: the layout is part of the
/// contract with emitters. The call computes indices [begin, end) along axis 0 (without outer axes:
/// begin 0, end 1); calls with disjoint ranges may run in parallel, unless the kernel has column
/// sums (Store in kernel/kernel.h). REQUIRES: extents of outer axes are above 0; begin is a
/// multiple of Kernel::part_multiple, and end is another or the extent of axis 0. Extents of inner
/// axes may be 0 (a reduction then gives its identity element), and so may a dynamic_limit (no
/// index is in range).
struct KernelArguments {
  std::byte* const* buffers = nullptr;  // one per operand
  const std::int64_t* sizes = nullptr;  // one per Kernel::sizes
  std::int64_t begin = 0, end = 0;
  IndexOutOfRange* out_of_range = nullptr;  // set by the first such index, unless it is set
  std::uint64_t seed = 0, call_counter = 0;  // for Random
};

/// A compiled kernel.
struct KernelFunction {
  void (*run)(const void* context, const KernelArguments* arguments) = nullptr;
  const void* context = nullptr;  // passed to `run`; machine code ignores it
};
using KernelFunctions = IdVector<KernelId, KernelFunction>;

}  // namespace kiln::codegen
