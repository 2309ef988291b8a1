// Emits the reductions of a team of threads: the accumulators of a lane and their combination.
// Scans use the same accumulators (running_text.h).
#pragma once

#include "backends/codegen/grid/grid_schedule.h"
#include "backends/codegen/text/text_lines.h"

#include <string>

namespace kiln::codegen {

/// The type of a reduction's accumulators.
std::string accumulator_text(const Kernel& kernel, const Stage& stage);
/// The initial value of an accumulator: the identity element.
std::string start_text(const Kernel& kernel, const Stage& stage);
/// The combination of two accumulators.
std::string combined_text(const Kernel& kernel, const Stage& stage, const std::string& a,
                          const std::string& b);

/// Writes to `lines`. The enclosing text declares `lane` and `team` (see TeamText). Names for stage
/// S: `parts<S>`, the accumulators of a lane (with chains: of the current chain); `sums<S>`, the
/// sums of the previous chains; `all<S>`, the combined accumulators of a lane, then of all lanes;
/// `r<S>`, the result.
class ReductionText {
 public:
  ReductionText(const Kernel& kernel, const GridSchedule& schedule, TextLines& lines);

  /// Declarations of shared memory, also for scans, for the scope around the function.
  std::string shared() const;
  bool is_reduction(StageId stage) const;
  bool has_chains(StageId stage) const;

  /// Declares the accumulators.
  void declare_accumulators(StageId stage);
  /// Adds the sum of each chain to `sums<S>` and begins new chains.
  void end_chains(StageId stage);
  /// Declares all<S>: the combined accumulators of a lane.
  void combine_accumulators(StageId stage);
  /// Combines all<S> over the lanes (all-reduce: every lane gets the result).
  void combine_lanes(StageId stage);
  void declare_result(StageId stage);

 private:
  const Stage& stage_of(StageId stage) const;
  std::string accumulator(StageId stage) const;
  std::string combined(StageId stage, const std::string& a, const std::string& b) const;
  void combine_shared(StageId stage);

  const Kernel& kernel_;
  const GridSchedule& schedule_;
  TextLines& lines_;
  const int lanes_, accumulators_;
};

}  // namespace kiln::codegen
