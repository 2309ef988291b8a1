// Pad and Fold as gathers: each element of the result reads the operand where bounds on the indices
// hold. A stride over an axis of the result (interior padding, strided windows) splits it into two
// domain axes, index = stride * quotient + phase, so that every access stays affine.
#pragma once

#include "backends/codegen/access/iteration_space.h"

namespace kiln::codegen {

/// Before: y = pad(x, value, low, high, interior)
/// After:  y[p] = 0 <= p - low < size of x ? x[p - low] : value
/// With interior padding p = (interior + 1) * quotient + phase, and a single phase reads x.
IterationSpace pad_iteration_space(const ir::Node& node, const SizeNames& names);

/// Before: y = fold(x): adds x[i, k] to y[stride * i + dilation * k] (col2im)
/// After:  y[p] = sum over ascending k of x[(p - dilation * k) / stride, k] where that is an index.
/// With a stride, p = stride * quotient + dilation * phase, and k = phase, phase + stride, ..: the
/// reduced axis has ceil(window / stride) candidates. Nothing is reduced when each element of y has
/// at most one candidate.
IterationSpace fold_iteration_space(const ir::Node& node, const SizeNames& names);

/// Whether each element of the result is in exactly one window: the kernel that computes the
/// operand can then write the result itself. REQUIRES: a Fold.
bool windows_tile(const ir::Node& fold, const SizeNames& names);

}  // namespace kiln::codegen
