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

/// Groups are along the last axis. In groups of one element every expression is uniform.
VectorAccesses vector_accesses(const Kernel& kernel, int elements);

/// Whether groups of that many elements can be formed: each access of the stages whose stride along
/// the last axis is 1 or -1 is a vector, at least one is, and the length of rows is a multiple of
/// the group, unless there is one row or the length is symbolic.
bool fits_vectors(const Kernel& kernel, int elements);

/// The elements of a vector of 16 bytes of the widest dtype that is contiguous along the last axis;
/// 1: none is.
int widest_vector(const Kernel& kernel);

/// Whether lanes of GridForm::Rows may compute groups of that many consecutive points: there is one
/// inner axis, of a length that is a multiple of the group or symbolic, no running stage and no
/// index check; every store of a stage over inner points is a vector, and every load is one or
/// loop-invariant.
bool fits_row_vectors(const Kernel& kernel, int elements);

/// The bytes of an element that the access reads or writes.
std::int64_t width_of(const Kernel& kernel, AccessId access);

/// Whether some load or store has a dynamic index, which is checked.
bool has_dynamic_access(const Kernel& kernel);

/// The accesses that the loads and stores of all stages use, each once.
std::vector<AccessId> used_accesses(const Kernel& kernel);

}  // namespace kiln::codegen
