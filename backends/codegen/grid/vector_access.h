// Finds accesses of neighbouring points that are one access of several elements.
#pragma once

#include "backends/codegen/kernel/kernel.h"

namespace kiln::codegen {

/// How groups of neighbours along the last axis are computed at a time.
struct VectorAccesses {
  /// Per access: the elements of a group are neighbours in memory, with one guard and one dynamic
  /// index. The first one is aligned where those of the group at index 0 are and all symbolic
  /// strides are multiples of the group.
  std::vector<bool> is_vector;
  /// Per expression: it has one value in a group and can be computed before those that differ
  /// without a change of the fault that is recorded.
  std::vector<bool> is_uniform;
};

/// REQUIRES: the kernel has no inner axes. A group of one element is uniform in everything.
VectorAccesses vector_accesses(const Kernel& kernel, int elements);

/// Whether groups of so many elements can be formed: each access of the stages whose stride along
/// the last axis is 1 or -1 is a vector, at least one is, and rows are no multiple of the group
/// only where there is one row or their length is symbolic.
bool fits_vectors(const Kernel& kernel, int elements);

/// The accesses of all stages, each once.
std::vector<int> used_accesses(const Kernel& kernel);

}  // namespace kiln::codegen
