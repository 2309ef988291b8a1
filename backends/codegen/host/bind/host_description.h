// Parallelism of the host executor: grain sizes and maximum numbers of parts.
#pragma once

#include "backends/codegen/claims/target_description.h"

namespace kiln::codegen {

/// Constants that divide steps into parts for threads. They depend on sizes and on the target that
/// kernels were lowered for, never on the number of cores: the rows of a matmul's part or of a
/// loop's group select its implementation, and with it the bits of its sums. Measurements of
/// kernel_grain: tools/kiln/bench/results/cpu-constants.md.
struct HostDescription {
  TargetDescription target = {};

  /// Expressions per part of a kernel: about 10 us, several times the
  /// cost of a dispatch to a thread.
  std::int64_t kernel_grain = std::int64_t{1} << 15;
  /// Multiply-adds per part of a matmul: about 4 us of one core.
  std::int64_t matmul_grain = std::int64_t{1} << 18;
  /// Bytes of operands and result per part of a matmul: about 2 us of one core.
  std::int64_t matmul_byte_grain = std::int64_t{1} << 18;
  /// Parts of a matmul are multiples of these tiles; with fewer
  /// columns the lhs is reread too often.
  std::int64_t matmul_part_rows = 16, matmul_part_columns = 32;
  /// Minimum of rows per group of a row-independent loop: a tile of its matmuls.
  std::int64_t loop_group_rows = 16;
  /// Minimum of work of a parallel region, in parts of kernel_grain.
  std::int64_t min_region_parts = 4;

  /// Several parts per core of the target, for load balancing: idle threads take further parts.
  std::int64_t max_kernel_parts() const { return target.compute_units * 8; }
  /// One part per core of the target: each part reads one of the operands completely.
  std::int64_t max_matmul_parts() const { return target.compute_units; }
  /// One group per core of the target: each group reads the weights in every iteration.
  std::int64_t max_loop_groups() const { return target.compute_units; }
  /// Parts of the vector axis begin at multiples of this, so that no two parts share a cache line,
  /// even for dtypes of one byte (no false sharing).
  std::int64_t lane_block() const { return target.lanes; }
};

}  // namespace kiln::codegen
