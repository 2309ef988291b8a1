// Split sizes of reductions whose results are too few to occupy the target: kernel/split rewrites
// their kernels to partial reductions, and fusion keeps nodes apart that need the total. Sizes
// follow from extents and the target's description, never from the number of threads.
#pragma once

#include "backends/codegen/fusion/units.h"

namespace kiln::codegen {

/// One axis of a domain in parts of `length` indices each.
struct ReductionParts {
  int axis = 0;
  std::int64_t length = 1;
};

/// How a reduction over those axes of the domain is split; none when its results occupy the target,
/// or when it is too little work. In a loop's body only reductions to one number are split: others
/// may have independent rows (find_sharding.h).
std::optional<ReductionParts> reduction_parts(const ir::Dims& domain,
                                              const std::vector<bool>& reduced,
                                              const TargetDescription& target, bool is_body);

/// Whether a reduction runs in parts: because reduction_parts() splits it or, on a target that
/// divides reductions, because launches divide it. For such a target an axis of unknown size counts
/// as long, except in the body of a loop.
bool runs_in_parts(const ir::Dims& domain, const std::vector<bool>& reduced,
                   const TargetDescription& target, bool is_body);

/// Rows per block of a kernel that iterates over rows and adds to column sums; none when the number
/// of rows has no suitable divisor.
std::optional<std::int64_t> rows_per_block(const ir::Dim& rows, const TargetDescription& target);

}  // namespace kiln::codegen
