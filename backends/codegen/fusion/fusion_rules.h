// Legality and profitability rules of fusion.
//
// A node may join a kernel that runs over the same domain, if it reads what the kernel computes at
// the point where the kernel computes it (any other element needs the whole tensor in memory), and
// if no path among groups leads from the kernel to another producer of the node (a cycle).
//
// Before: group { %2 = exp %0 }; %3 = sum %2 axes=[1]; %4 = permute %2 axes=[1,0]; %5 = %4 + 1
// After:  group { %2 = exp %0, %3 = sum %2 }; group { %5 }: it reads %2 transposed, from memory
#pragma once

#include "backends/codegen/access/node_iteration_space.h"
#include "backends/codegen/fusion/fusion_builder.h"

namespace kiln::codegen {

/// Whether the reduction runs in parts (reduction_parts.h). An ArgMax does not, except on targets
/// with `divides_reductions`.
bool runs_in_parts(const FusionBuilder& builder, const IterationSpace& space);

/// The role of a node with this iteration space in the kernel `index`; empty when it may not join.
std::optional<Role> role_in(const FusionBuilder& builder, int index, const IterationSpace& space,
                            const std::vector<View>& views);

/// Whether the kernel can read the operand of a node that has `role` there: from memory, without a
/// cycle, or as the value that the kernel computes at the same point.
bool is_readable(const FusionBuilder& builder, int index, const IterationSpace& space, Role role,
                 const OperandRead& read, const View& view);

/// Whether the kernel reduces exactly the axes that `space` keeps, so that it can accumulate the
/// column sum row by row, and its rows divide into blocks.
bool can_sum_columns(const FusionBuilder& builder, int index, const IterationSpace& space);

/// Whether two kernels over one domain can become one, so that a node which reads both reads each
/// operand at the point where it is computed. No path may lead from one to the other.
bool can_merge(const FusionBuilder& builder, int into, int from, const IterationSpace& space,
               Role role, const std::vector<View>& views);

/// Whether a node that shares only a scalar with the kernel may join it: its consumers, which
/// follow it there, must fit as well.
bool has_room_for_chain(const KernelGroup& group);

/// Whether the kernel takes no node that would add a stage to it.
bool is_full(const KernelGroup& group);

/// The level of a node that reads these values in that kernel (Member::level).
int level_of(const FusionBuilder& builder, int index, const std::vector<View>& views);

}  // namespace kiln::codegen
