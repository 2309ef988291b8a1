// Finds accesses whose consecutive points can be one vector load or store.
#pragma once

#include "backends/codegen/kernel/kernel.h"

namespace kiln::codegen {

/// Properties of accesses and expressions over groups of consecutive points along the last axis.
struct VectorAccesses {
  /// Per access: the elements of a group are contiguous, with one guard and one dynamic index. The
  /// group is aligned if the operand is aligned to the bytes of a group and the symbolic offsets
  /// and strides are multiples of the group's elements.
  IdVector<AccessId, bool> is_vector;
  /// Per expression: its value is the same at all points of a group, and evaluating it before the
  /// expressions that vary does not change which index out of range is recorded.
  ExpressionFlags is_uniform;
};

/// REQUIRES: the kernel has no inner axes. In groups of one element every expression is uniform.
VectorAccesses vector_accesses(const Kernel& kernel, int elements);

/// Whether groups of that many elements can be formed: each access of the stages whose stride along
/// the last axis is 1 or -1 is a vector, at least one is, and the length of rows is a multiple of
/// the group, unless there is one row or the length is symbolic.
bool fits_vectors(const Kernel& kernel, int elements);

/// The bytes of an element that the access reads or writes.
std::int64_t width_of(const Kernel& kernel, AccessId access);

/// The accesses that the loads and stores of all stages use, each once.
std::vector<AccessId> used_accesses(const Kernel& kernel);

}  // namespace kiln::codegen
