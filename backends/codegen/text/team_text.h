// The stages of a kernel at one outer point as text for a team of threads.
#pragma once

#include "backends/codegen/grid/grid_schedule.h"
#include "backends/codegen/grid/stage_groups.h"
#include "backends/codegen/text/point_text.h"
#include "backends/codegen/text/split_text.h"

#include <string>

namespace kiln::codegen {

/// Functions that teams call: exchanges within a warp, and the combiner of arg_max.
const char* team_functions();

/// Writes stages to `lines`. The surrounding function declares the names of PointText, but for the
/// indices of inner axes, the results of stages and `fault`, and
///   s32 lane, team   of the thread in its team, of the team in its block
///   bool live        whether the team has a point; else it only reaches barriers and shuffles
///   s64 inner, outer the number of inner points, and that of the outer point
/// and what SplitText demands.
/// All threads of a block reach each stage equally often, so that barriers are uniform.
class TeamText {
 public:
  TeamText(const Kernel& kernel, const GridSchedule& schedule, TextLines& lines);

  /// Declarations for the scope around the function: shared memory.
  std::string shared() const { return reductions_.shared() + split_.shared(); }
  /// All stages, with barriers where they share memory.
  void write();

 private:
  void write_groups(bool inner);
  void write(const StageGroup& group);
  void write_once(int number, const Stage& stage);
  void write_running(int number);
  void declare_kept();
  void visit_points(const StageGroup& group);
  void visit_unrolled(const StageGroup& group);
  void visit_in_loop(const StageGroup& group);
  /// A loop over the turns of the lanes before point `end`.
  void visit_turns(const StageGroup& group, const std::string& end);
  /// The indices of inner point `p`, and `fault`.
  void begin_point(int stage);
  /// The stages at inner point `p`; a reduction combines its value with `part<stage>`.
  void write_point(const StageGroup& group);
  void write_stage(int number, const Stage& stage);
  void write_fault(int number, const std::string& point);
  void hoist(const StageGroup& group);
  void declare(const std::vector<bool>& wanted);

  void barrier();

  const Kernel& kernel_;
  const GridSchedule& schedule_;
  TextLines& lines_;
  PointText point_;
  ReductionText reductions_;
  SplitText split_;
  const int lanes_, accumulators_;
  const std::int64_t lane_points_;
  const bool has_faults_;
  std::vector<bool> can_hoist_;  // expressions that are the same at all inner points
  std::vector<bool> is_kept_;    // expressions whose values stay in registers
  std::vector<bool> is_known_;   // those of an earlier group
};

}  // namespace kiln::codegen
