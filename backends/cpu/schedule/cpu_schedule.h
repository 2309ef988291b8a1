// CPU schedules: the mapping of a kernel's loops to lanes, tiles, streaming stores and prefetches.
//
// Before: axes [8192] | [1000], vector axis 1; reduce max, reduce sum of exp, map (softmax).
// After:  "64 lanes along i1, 4 vectors; loops: stage 0 | stage 1 | stage 2; ..."
#pragma once

#include "backends/codegen/kernel/kernel.h"
#include "backends/cpu/schedule/cpu_description.h"
#include "backends/cpu/schedule/kernel_levels.h"

#include <cstdint>
#include <string>
#include <vector>

namespace kiln::cpu {

/// Lanes along the last axes together, where rows along the last `axes` of them have fewer points
/// than a register: an iteration takes `rows` whole rows, which are neighbours along the axis
/// before those, and whose points fill `vectors` registers.
///
/// Example: x float32[n, 3] + b float32[3], registers of 16 lanes: 16 rows in 3 vectors; lane 0 of
/// vector 1 is point (5, 1).
struct RowBlocks {
  int axes = 0;  // 0: lanes run along the vector axis alone
  int rows = 0;
  int vectors = 0;

  bool any() const { return axes > 0; }
  bool operator==(const RowBlocks&) const = default;
};

/// Operands whose elements along the vector axis are not contiguous but along an outer axis are:
/// they are read in square tiles of `lanes` rows, which are transposed in registers. A block of
/// rows has several tiles.
struct TileSchedule {
  int axis = -1;  // the outer axis along which elements are contiguous; -1: no tiles
  int rows = 0;  // indices of that axis in a block
  IdVector<AccessId, bool> tiled = {};  // whether it is read in tiles

  bool operator==(const TileSchedule&) const = default;
};

/// Streaming stores. Where at run time a streamed operand is not aligned, or is another operand
/// that is read, the kernel runs its loops with plain stores.
struct StreamSchedule {
  IdVector<OperandId, bool> operands = {};  // empty: none is streamed
  bool alone = false;  // only in calls on the whole domain, by one thread
  /// An operand whose rows the kernel stores, loads and stores again: a row on the stack takes all
  /// but the last stores, which are streamed. No other operand is streamed beside it, as
  /// the rows of others may begin elsewhere in a line.
  OperandId scratch_operand = {};

  bool any() const { return !operands.empty(); }
  bool operator==(const StreamSchedule&) const = default;
};

/// Blocked summation: long float32 sums are added in parts of a few hundred terms, so that the
/// rounding error does not grow with their number.
struct SumParts {
  int axis = -1;  // -1: no sum is long
  std::int64_t length = 0;  // indices of that axis in a part

  bool operator==(const SumParts&) const = default;
};

/// Where an operand's next row, or one some rows down a column, is prefetched: at an access in the
/// loops of the stage group that begins with stage `group`, or of all groups.
struct PrefetchSite {
  StageId group = {};  // none: all, which are loops down columns
  AccessId access = {};  // none: nowhere
  std::int64_t bytes_ahead = 0;  // to that row, at most; 0: by its stride at run time

  bool operator==(const PrefetchSite&) const = default;
};

/// Prefetches `bytes` of the row that a gather reads some iterations later of the loop over `axis`.
struct GatherPrefetch {
  AccessId access = {};
  int axis = 0;
  std::int64_t bytes = 0;
  /// The expressions to compute again, for that later iteration, in order.
  std::vector<ExpressionId> recomputed = {};

  bool operator==(const GatherPrefetch&) const = default;
};

/// Shorter instructions for an expression whose operands' ranges are known.
enum class ShortForm : std::uint8_t {
  None,
  ExpOfNonpositive,  // exp(x), x <= 0 or NaN
  DivideByInvariant,  // x / y, y invariant in the loop: multiplied by 1 / y, then corrected
};

/// How a Reduce stage combines floats by maximum or minimum.
enum class MinMaxForm : std::uint8_t {
  Propagating,  // each step propagates NaN and orders zeros; and all other combiners
  DropsNan,  // one instruction; NaN and the sign of a zero need not propagate
  KeepsSigns,  // one instruction; signs and NaN are accumulated beside it
};

/// A division exp(x - m) / sum of exp(x - m), in the loops of the stage group that begins with
/// stage `group`: the quotient is at most 1, and the divisor is at least 1.
struct ShareDivision {
  StageId group = {};
  ExpressionId expression = {};

  bool operator==(const ShareDivision&) const = default;
};

/// The schedule of one kernel.
///
/// Stages of a group share their loops. The loop over the vector axis takes `lanes` points at a
/// time, then the rest under a mask. If that axis is an outer one, every lane is an output point,
/// and inner loops run inside; else a reduction keeps partial results in lanes and reduces them at
/// its end. With lanes, a reduction has lanes / register_lanes accumulators, to hide the latency of
/// additions. `is_compact`: loops of maps take one vector only, for short code.
struct CpuSchedule {
  int lanes = 1;  // 1: scalar code
  int register_lanes = 1;  // that fill one register
  bool lanes_are_outer = false;
  bool is_compact = false;
  std::vector<StageGroup> groups = {};
  RowBlocks row_blocks = {};
  TileSchedule tiles = {};
  StreamSchedule streams = {};
  SumParts sum_parts = {};
  IdVector<OperandId, PrefetchSite> prefetches = {};
  std::vector<GatherPrefetch> gather_prefetches = {};
  /// The loop level (kernel_levels.h) at which its dynamic index is checked once
  /// for the row that the loops inside read, except in loops over parts of sums; -1: the index is
  /// checked at every point.
  IdVector<AccessId, int> checked_rows = {};
  IdVector<ExpressionId, ShortForm> short_forms = {};
  std::vector<ShareDivision> share_divisions = {};
  IdVector<StageId, MinMaxForm> minmax_forms = {};

  int vectors() const { return lanes / register_lanes; }
  /// REQUIRES: short_forms of the expression is DivideByInvariant.
  bool divides_share(StageId group, ExpressionId expression) const;
  bool operator==(const CpuSchedule&) const = default;
};

/// Chooses the schedule of a kernel; a pure function of its arguments. Linear in the kernel's
/// expressions, times groups.
CpuSchedule schedule_cpu(const codegen::Kernel& kernel, const CpuDescription& cpu);

/// Whether all stages of the group are maps.
bool is_map(const codegen::Kernel& kernel, StageGroup group);
/// Whether the stage's sum is added in the parts of SumParts, if there are any.
bool is_long_sum(const codegen::Kernel& kernel, const codegen::Stage& stage);

/// Throws InternalError naming the kernel and the violated rule.
void verify(const codegen::Kernel& kernel, const CpuSchedule& schedule, const CpuDescription& cpu);

/// One line, as dumps show it: decisions that differ from the usual code, separated by "; ".
std::string print(const codegen::Kernel& kernel, const CpuSchedule& schedule);

}  // namespace kiln::cpu
