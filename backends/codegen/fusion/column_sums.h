// Column sums on the way: a kernel that goes row by row adds up what it makes in blocks of rows, so
// that nobody has to read it again down the columns. Blocks depend on sizes alone, never on the
// number of threads, and one block is the work of one thread. And reductions to so few numbers that
// no two threads could share them, in two steps.
#pragma once

#include "backends/codegen/access/points.h"
#include "backends/codegen/fusion/units.h"

namespace kiln::codegen {

/// How many indices of its first axis that is not reduced make a block, when the unit can sum over
/// the axes that `points` reduces; else 0.
std::int64_t block_for(const Unit& unit, const Points& points, const TargetDescription& target);

struct ColumnSum {
  ir::Value blocks;  // the sum of each block: a tensor without a maker
  ir::Value total;   // their sum, of the node's type
  IndexMap to;       // of `blocks`, over the unit's domain
};
ColumnSum column_sum(const ir::Node& sum, const Unit& unit, std::int64_t block,
                     const SizeNames& names);

/// Whether a reduction over the first axis and others gives so few numbers from so many that it is
/// better done in two steps: all axes but the first, and then that.
bool worth_parts(const ir::Node& reduction, const SizeNames& names,
                 const TargetDescription& target);

}  // namespace kiln::codegen
