// Finds accesses of neighbouring points that are one access of several elements.
#pragma once

#include "backends/codegen/kernel/kernel.h"

namespace kiln::codegen {

/// Accesses and expressions of groups: points that are neighbours along the last axis.
struct VectorAccesses {
  /// Per access: the elements of a group are neighbours in memory, with one guard and one dynamic
  /// index. The first one is aligned if the operand is aligned to the bytes of a group and the
  /// symbolic offsets and strides are multiples of the group's elements.
  std::vector<bool> is_vector;
  /// Per expression: its value is the same at all points of a group, and evaluating it before the
  /// expressions that differ does not change which fault is recorded.
  std::vector<bool> is_uniform;
};

/// REQUIRES: the kernel has no inner axes. A group of one element is uniform in everything.
VectorAccesses vector_accesses(const Kernel& kernel, int elements);

/// Whether groups of so many elements can be formed: each access of the stages whose stride along
/// the last axis is 1 or -1 is a vector, at least one is, and the length of rows is a multiple of
/// the group, unless there is one row or the length is symbolic.
bool fits_vectors(const Kernel& kernel, int elements);

/// The accesses that the loads and stores of all stages use, each once.
std::vector<int> used_accesses(const Kernel& kernel);

}  // namespace kiln::codegen
