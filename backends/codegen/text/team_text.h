// Emits the stages of a kernel at one outer point, for a team of threads.
#pragma once

#include "backends/codegen/grid/grid_schedule.h"
#include "backends/codegen/grid/stage_groups.h"
#include "backends/codegen/text/point_text.h"
#include "backends/codegen/text/split_text.h"

#include <string>

namespace kiln::codegen {

/// Functions that teams call: exchanges within a warp, and the combiner of arg_max.
const char* team_functions();

/// Writes stages to `lines`. The enclosing function declares the names of PointText except the
/// indices of inner axes, the results of stages and `out_of_range`, the names of SplitText, and
///   s32 lane, team   the number of the thread in its team, of the team in its block
///   bool live        false: the team has no point, and only takes part in barriers and shuffles
///   s64 inner        the number of inner points
///   s64 outer        the linear index of the outer point
/// All threads of a block reach each stage equally often, so that barriers are uniform.
class TeamText {
 public:
  TeamText(const Kernel& kernel, const GridSchedule& schedule, TextLines& lines);

  /// Declarations of shared memory for the scope around the function.
  std::string shared() const { return reductions_.shared() + split_.shared(); }
  /// Writes all stages, with barriers where they share memory.
  void write();

 private:
  void write_groups(bool inner);
  void write(const StageGroup& group);
  void write_once(StageId id, const Stage& stage);
  void write_running(StageId id);
  void declare_kept();
  void visit_points(const StageGroup& group);
  void visit_unrolled(const StageGroup& group);
  void visit_in_loop(const StageGroup& group);
  /// A loop of the lanes over the points before `end`, four per iteration, one per accumulator.
  void visit_turns(const StageGroup& group, const std::string& end);
  /// Declares the indices of inner point `p`, and `out_of_range`.
  void begin_point(StageId stage);
  /// Writes the stages at inner point `p`; a reduction combines its value with `part<stage>`.
  void write_point(const StageGroup& group);
  void write_stage(StageId id, const Stage& stage);
  void declare_out_of_range(StageId id, const std::string& point);
  void hoist(const StageGroup& group);
  void declare(const ExpressionFlags& wanted);

  void barrier();

  const Kernel& kernel_;
  const GridSchedule& schedule_;
  TextLines& lines_;
  PointText point_;
  ReductionText reductions_;
  SplitText split_;
  const int lanes_, accumulators_;
  const std::int64_t lane_points_;
  const bool checks_indices_;
  ExpressionFlags can_hoist_;  // expressions that are invariant over inner points
  ExpressionFlags is_kept_;    // expressions whose values stay in registers
  ExpressionFlags is_known_;   // kept expressions that an earlier group has evaluated
};

}  // namespace kiln::codegen
