// The machine that a program is lowered for, as far as fusion asks about it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace kiln::codegen {

/// The parallelism of a machine. Kernels and the order of float sums follow from it, so that a CPU
/// gives the same numbers whatever its cores are.
struct TargetDescription {
  std::int64_t units = 8;   // that work independently: cores, or multiprocessors
  std::int64_t lanes = 64;  // elements in flight in one of them
  std::int64_t min_block_rows = 8;  // of a block or part: adding the partial sums stays cheap
  /// Launches divide the inner points of reductions among blocks, for the sizes of each call
  /// (grid/split_rows.h). The step split_reductions then leaves reductions whole, and fusion does
  /// not join a reduction with work at every point that needs its total: no such launch does both.
  bool divides_reductions = false;

  /// Points that occupy every lane of the machine. reduction_parts.cpp splits only reductions with
  /// at most as many results.
  std::int64_t busy_points() const { return units * lanes; }
  /// Upper bound on the parts of one reduction: several for each unit, and few enough that adding
  /// their results in order costs no accuracy.
  std::int64_t most_reduction_parts() const { return units * 16; }
  /// Upper bound on the blocks of rows of a column sum.
  std::int64_t most_row_blocks() const { return units * 8; }
  /// Outer points with which a reduction stays in the kernel of the work that feeds it; with fewer
  /// that work would lose its parallelism.
  std::int64_t fewest_outer_points() const { return units * 2; }
  /// Work of so few points is done soon by one unit.
  std::int64_t small_domain() const { return lanes * 256; }
};

}  // namespace kiln::codegen
