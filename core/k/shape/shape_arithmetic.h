// Scalar arithmetic on evaluated elements.
#pragma once

#include "core/k/shape/shape_element.h"
#include "core/ops/op.h"

namespace kiln {

/// The elementwise op on these operands, of dtype `from` (of a Select: that of its last operand);
/// `to` is the dtype of the result. Known numbers are computed as the op computes them. Sizes that
/// are not known stay symbolic where the op agrees with the arithmetic of dims for every value >= 0
/// of their symbols; else nullopt.
std::optional<ShapeElement> shape_arithmetic(ir::Op op, DType from, DType to,
                                             const ShapeElements& operands);

}  // namespace kiln
