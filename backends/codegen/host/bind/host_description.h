// How the steps of a plan are divided among the threads of a host.
#pragma once

#include "backends/codegen/claims/target_description.h"

namespace kiln::codegen {

/// Grains and numbers of parts. They follow from sizes and from the description that kernels were
/// lowered for, never from the number of cores: the rows of a matmul's part or of a loop's group
/// decide which implementation computes it, and so the bits of its sums. README.md has the
/// measurements of kernel_grain.
struct HostDescription {
  TargetDescription target = {};

  /// Expressions of a part of a kernel: some 10 us, several times as long as handing it to a
  /// thread.
  std::int64_t kernel_grain = std::int64_t{1} << 15;
  /// Multiply-adds of a part of a matmul: some 20 us of one core.
  std::int64_t matmul_grain = std::int64_t{1} << 20;
  /// Bytes of the operands and the result of a part of a matmul: some 2 us of one core.
  std::int64_t matmul_byte_grain = std::int64_t{1} << 18;
  /// Parts of a matmul have whole tiles: with fewer columns the lhs is read too often.
  std::int64_t matmul_part_rows = 16, matmul_part_columns = 32;
  /// Rows of a loop that make a group worth a thread: as many as the tiles of its matmuls take.
  std::int64_t loop_group_rows = 16;
  /// Kernels side by side that are worth several threads: so many parts of kernel_grain together.
  std::int64_t min_region_parts = 4;

  /// Of one kernel. Several for each unit: threads that finish early take parts of the others.
  std::int64_t max_kernel_parts() const { return target.units * 8; }
  /// Of one matmul. One for each unit: each part reads one of the operands whole.
  std::int64_t max_matmul_parts() const { return target.units; }
  /// Of one loop. One for each unit: each group reads the weights in every iteration.
  std::int64_t max_loop_groups() const { return target.units; }
  /// Parts of the axis that lanes run along begin at multiples of this. Two parts then share no
  /// line of the caches, whatever the dtype: the smallest has one byte.
  std::int64_t lane_block() const { return target.lanes; }
};

}  // namespace kiln::codegen
