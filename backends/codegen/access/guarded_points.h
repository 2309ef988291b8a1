// Pad and Fold as gathers: each element of the result reads the operand where bounds on indices
// hold. A step over an axis of the result (interior padding, strides of windows) makes two axes of
// the domain: index = step * quotient + phase, so that every access stays affine.
#pragma once

#include "backends/codegen/access/point_reads.h"

namespace kiln::codegen {

/// Before: y = pad(x, value, low, high, interior)
/// After:  y[p] = 0 <= p - low < size of x ? x[p - low] : value
/// With interior padding p = (interior + 1) * quotient + phase, and one phase alone reads x.
Points points_of_pad(const ir::Node& node, const SizeNames& names);

/// Before: y = fold(x): x[i, k] is added to y[stride * i + dilation * k]
/// After:  y[p] = sum over ascending k of x[(p - dilation * k) / stride, k] where that is an index.
/// With a stride, p = stride * quotient + dilation * phase, and k = phase, phase + stride, ..: the
/// reduced axis has ceil(window / stride) candidates. No axis is reduced where each element of y
/// has at most one.
Points points_of_fold(const ir::Node& node, const SizeNames& names);

/// Whether each element of the result lies in exactly one window, so that the kernel of the operand
/// can write the result itself. REQUIRES: a Fold.
bool windows_tile(const ir::Node& fold, const SizeNames& names);

}  // namespace kiln::codegen
