// Legality rules of fusion: which nodes and units may share a kernel. A node joins a kernel that
// iterates over the same points and computes the node's operands at those points.
#pragma once

#include "backends/codegen/access/points.h"
#include "backends/codegen/fusion/fusion.h"

namespace kiln::codegen {

/// Whether the reduction runs in parts (reduction_parts.h). An ArgMax does not.
bool runs_in_parts(const Fusion& fusion, const Points& points);

/// How a node with these points would run in that unit; nothing when it may not join.
std::optional<Role> role_in(const Fusion& fusion, int index, const Points& points,
                            const std::vector<View>& views);

/// Whether the unit can read that operand of a node that runs with `role`.
bool is_readable(const Fusion& fusion, int index, const Points& points, Role role,
                 const Read& read, const View& view);

/// Whether the unit reduces exactly the axes that `points` keeps, and can accumulate the column sum
/// row by row.
bool can_sum_columns(const Fusion& fusion, int index, const Points& points);

/// Whether two kernels over the same points are independent, and a node that reads both reads each
/// operand at the point where it is computed.
bool can_merge(const Fusion& fusion, int into, int from, const Points& points, Role role,
               const std::vector<View>& views);

/// How many reductions of that unit come before a node that reads these.
int level_of(const Fusion& fusion, int index, const std::vector<View>& views);

}  // namespace kiln::codegen
