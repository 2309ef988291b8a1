// Kernels whose machine code serves any extent of their only axis.
#pragma once

#include "backends/codegen/kernel/kernel.h"

#include <optional>

namespace kiln::codegen {

/// The kernel with the extent of its axis as a run-time argument, the only one of Kernel::sizes, so
/// that kernels over tensors of different sizes have one key (kernel_key.h). Empty for a kernel
/// with other axes, with run-time arguments, or with an index that is checked.
///
/// Before: axes [1000] |         After: axes [n] |, sizes n
std::optional<Kernel> with_variable_extent(const Kernel& kernel);

}  // namespace kiln::codegen
