// Part sizes of split reductions (split-K): a reduction with too few results to occupy the target
// is computed as partial reductions and a reduction of those. kernel/split rewrites the kernels;
// fusion keeps nodes that need the total out of the kernel. Sizes follow from extents and the
// target's description, never from the number of threads.
//
// Before: s = sum x over [1000000], for 8 compute units
// After:  parts[p] = sum x over [p * 8000 .. p * 8000 + 8000) for 125 parts; s = sum parts
#pragma once

#include "backends/codegen/fusion/fusion_plan.h"

namespace kiln::codegen {

/// One axis of a domain in parts of `length` indices each.
struct ReductionParts {
  int axis = 0;
  std::int64_t length = 1;
};

/// How to split a reduction over the `reduced` axes of the domain; empty when its results occupy
/// the target, or when it is too little work. In a loop's body only reductions to a scalar are
/// split: others may have independent rows (plan/independent_rows.h).
std::optional<ReductionParts> reduction_parts(const ir::Dims& domain,
                                              const std::vector<bool>& reduced,
                                              const TargetDescription& target, bool is_body);

/// Whether a reduction runs in parts: because reduction_parts() splits it or, on a target with
/// `divides_reductions`, because its launches divide it. On such a target an axis of unknown size
/// counts as long, except in the body of a loop.
bool runs_in_parts(const ir::Dims& domain, const std::vector<bool>& reduced,
                   const TargetDescription& target, bool is_body);

/// Rows per block of a kernel that iterates over rows and accumulates column sums; empty when the
/// number of rows is unknown or has no suitable divisor.
std::optional<std::int64_t> rows_per_block(const ir::Dim& rows, const TargetDescription& target);

}  // namespace kiln::codegen
