// Sizes of the parts of reductions that too few points compute; kernel/split splits them. Fusion
// asks here what may join such a reduction. Parts depend on sizes and on the target's description
// alone, never on the number of threads.
#pragma once

#include "backends/codegen/fusion/units.h"

namespace kiln::codegen {

/// One axis of a domain in parts of `length` indices each.
struct ReductionParts {
  int axis = 0;
  std::int64_t length = 1;
};

/// How a reduction over those axes of the domain is split; none when its results are enough points
/// to keep the target busy, or too little work to share. In a body only reductions to one number
/// are split: others may have independent rows (sharding.h).
std::optional<ReductionParts> reduction_parts(const ir::Dims& domain,
                                              const std::vector<bool>& reduced,
                                              const TargetDescription& target, bool is_body);

/// Indices of one block of rows, for sums down the columns in a kernel that goes row by row; none
/// when the rows do not come in blocks.
std::optional<std::int64_t> rows_per_block(const ir::Dim& rows, const TargetDescription& target);

}  // namespace kiln::codegen
