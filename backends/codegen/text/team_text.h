// Emits the stages of a kernel at one outer point, for a team of threads.
#pragma once

#include "backends/codegen/grid/grid_schedule.h"
#include "backends/codegen/grid/stage_groups.h"
#include "backends/codegen/text/point_text.h"
#include "backends/codegen/text/split_text.h"
#include "backends/codegen/text/team_loop.h"

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
  /// Declares names for the scope of the function.
  void declare() { loop_.declare_alignment(); }
  /// Load and store sums of GridSchedule::held, before and after the points of a team.
  void load_held() { loop_.load_held(); }
  void store_held() { loop_.store_held(); }
  /// Writes all stages, with barriers where they share memory.
  void write();

 private:
  void write_groups(bool inner);
  void write(const StageGroup& group);
  void write_once(StageId id, const Stage& stage);
  void write_running(StageId id);
  void barrier();

  const Kernel& kernel_;
  const GridSchedule& schedule_;
  TextLines& lines_;
  PointText point_;
  ReductionText reductions_;
  SplitText split_;
  TeamLoop loop_;
};

}  // namespace kiln::codegen
