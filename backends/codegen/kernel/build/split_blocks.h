// Blocks of rows whose sums are made on the way (fusion/column_sums.h), as an axis of the kernel.
#pragma once

#include "backends/codegen/kernel/kernel.h"

namespace kiln::codegen {

/// Axis 0 becomes blocks and indices within them. `in_blocks`: accesses whose index along axis 0
/// is that of the block. REQUIRES: a static extent that is a multiple of `block`.
void split_blocks(Kernel& kernel, std::int64_t block, const std::vector<int>& in_blocks);

}  // namespace kiln::codegen
