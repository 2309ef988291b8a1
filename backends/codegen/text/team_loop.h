// Emits the loop of a lane over its inner points.
#pragma once

#include "backends/codegen/grid/grid_schedule.h"
#include "backends/codegen/grid/stage_groups.h"
#include "backends/codegen/text/point_text.h"
#include "backends/codegen/text/reduction_text.h"
#include "backends/codegen/text/turn_loads.h"

#include <string>
#include <vector>

namespace kiln::codegen {

/// Writes loops to `lines`, in turns: turn k of a lane is its point k. Several turns at a time load
/// before the first one computes and stores. All of their loads may do so: order_reason() and
/// needs_barrier() admit only kernels whose points load what no other point of a group stores.
///
/// The enclosing text declares the names of TeamText and the accumulators of ReductionText.
class TeamLoop {
 public:
  TeamLoop(const Kernel& kernel, const GridSchedule& schedule, ReductionText& reductions,
           TextLines& lines);

  /// Declares the registers of kept values.
  void declare_kept();
  /// Writes the loop of a group of Map and Reduce stages over inner axes; a reduction combines its
  /// values with `parts<stage>`.
  void write(const StageGroup& group);
  /// Declares the indices of inner point `p`, and `out_of_range`.
  void begin_point(StageId stage);
  /// Declares `out_of_range` for the inner point that `p` numbers.
  void declare_out_of_range(StageId stage, const std::string& p);

 private:
  /// The values that a stage loads early, and its accumulating stores whose old values it does.
  struct StageLoads {
    StageId stage;
    std::vector<ExpressionId> loads;
    std::vector<std::size_t> sums;
  };
  /// `count` turns from point `first` on. `end`: the condition under which a turn has no point;
  /// empty: all have.
  struct Turns {
    std::int64_t count;
    std::string first, end;
  };

  void hoist(const StageGroup& group);
  void find_loads(const StageGroup& group);
  bool loads_early() const;
  std::int64_t turns_in_flight(std::int64_t turns) const;
  void write_unrolled();
  void write_loop(const StageGroup& group);
  /// A loop over the points before `end`, four per iteration, one per accumulator.
  void write_iterations(const std::string& end);
  void write_turns(const Turns& turns);
  void open_turn(const Turns& turns, std::int64_t in_flight);
  void declare_arrays(std::int64_t turns);
  void load_turn(PointText point);
  void compute_turn(PointText point);
  void compute_stage(const StageLoads& early, PointText& point);
  void declare(const ExpressionFlags& wanted, PointText& point);
  void keep(ExpressionId one);

  const Kernel& kernel_;
  const GridSchedule& schedule_;
  ReductionText& reductions_;
  TextLines& lines_;
  PointText point_;  // the scope around the loop
  TurnLoads turns_;
  std::vector<StageLoads> early_;  // of the current group
  const int lanes_, accumulators_;
  const std::int64_t lane_points_;
  const bool checks_indices_;
  ExpressionFlags can_hoist_;  // expressions that are invariant over inner points
  ExpressionFlags is_kept_;  // expressions whose values stay in registers
  ExpressionFlags is_known_;  // kept expressions that an earlier group has evaluated
};

}  // namespace kiln::codegen
