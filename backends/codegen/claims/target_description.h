// The parallelism of the machine that a program is lowered for. Fusion, split reductions and the
// host's schedule derive their constants from it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace kiln::codegen {

/// Kernels and the order of floating-point sums depend on this description, never on the number of
/// cores of the machine at hand: results have the same bits on a CPU with any number of cores.
struct TargetDescription {
  std::int64_t compute_units = 8;   // cores, or streaming multiprocessors
  std::int64_t lanes = 64;          // elements in flight in one compute unit
  std::int64_t min_block_rows = 8;  // of a block or part, so that adding the partial sums is cheap
  /// Launches divide the inner points of a reduction among blocks, for the sizes of each call
  /// (grid/split_rows.h). The pass split_reductions then leaves reductions whole, and fusion keeps
  /// a reduction apart from work at every point that needs its total: no launch does both.
  bool divides_reductions = false;
  /// Several launches of one function may be one launch (grid/batch.h).
  bool batches_launches = false;
  /// Shared memory of a block, for the carries and temporaries of a loop that is one kernel
  /// (plan/fuse_loops.h). 0: the target does not fuse loops.
  std::int64_t loop_bytes = 0;

  /// Points that occupy every lane. reduction_parts.cpp splits only reductions with at most this
  /// many results.
  std::int64_t busy_points() const { return compute_units * lanes; }
  /// Upper bound on the parts of one reduction: several for each compute unit, and few enough that
  /// adding their results in order costs no accuracy.
  std::int64_t max_reduction_parts() const { return compute_units * 16; }
  /// Upper bound on the row blocks of a column sum.
  std::int64_t max_row_blocks() const { return compute_units * 8; }
  /// Outer points from which a reduction is fused with its producers; with fewer, the producers
  /// would lose their parallelism.
  std::int64_t min_outer_points() const { return compute_units * 2; }
  /// A domain of at most this many points is little work for one compute unit.
  std::int64_t small_domain() const { return lanes * 256; }
};

}  // namespace kiln::codegen
