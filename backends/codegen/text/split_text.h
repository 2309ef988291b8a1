// Emits split-k reductions: several blocks divide the inner points (grid/split_rows.h).
#pragma once

#include "backends/codegen/text/reduction_text.h"

#include <string>

namespace kiln::codegen {

/// Writes to `lines` for schedules with `split_k`, nothing for others. The enclosing text declares
/// the names of TeamText, `points`, and `number`, the linear index of the outer point.
class SplitText {
 public:
  SplitText(const Kernel& kernel, const GridSchedule& schedule, TextLines& lines);

  /// Parameters of the function after Kernel::sizes and the points, each followed by a comma:
  ///   const s64 part_points  inner points of a part, at least 1
  ///   u8* const partials     memory of partial results (split_rows.h)
  ///   u32* const arrivals    counters, GridLaunch::arrivals of them, all 0
  std::string parameters() const;
  /// Declarations of shared memory for the scope around the function.
  std::string shared() const;
  /// Declares `parts`, `part` and the range [begin, end) of its inner points from `inner`.
  void declare_part();
  /// Stores the partial results of the block and counts its arrival. The last block to arrive at an
  /// outer point combines the results of all parts, in their order; the others continue with their
  /// next outer points. REQUIRES: all lanes have all<S> of each reduction; the innermost open loop
  /// is that over outer points.
  void exchange(ReductionText& reductions);

 private:
  std::string arrived() const { return kernel_.name + "_arrived"; }
  std::string slot(const std::string& part) const;
  /// Counts the block's arrival. All blocks except the last one continue with their next outer
  /// points; no block waits.
  void arrive();
  void combine_parts(StageId stage, ReductionText& reductions);

  const Kernel& kernel_;
  const GridSchedule& schedule_;
  TextLines& lines_;
};

}  // namespace kiln::codegen
