// Emits the loop of a lane over its inner points.
#pragma once

#include "backends/codegen/grid/grid_schedule.h"
#include "backends/codegen/grid/stage_groups.h"
#include "backends/codegen/text/point_text.h"
#include "backends/codegen/text/reduction_text.h"
#include "backends/codegen/text/turn_loads.h"
#include "backends/codegen/text/vector_memory.h"

#include <string>
#include <vector>

namespace kiln::codegen {

/// Writes loops to `lines`, in turns of GridSchedule::elements consecutive points. Several turns at
/// a time load before the first one computes and stores. All of their loads may do so:
/// order_reason() and needs_barrier() admit only kernels whose points load what no other point of a
/// group stores.
///
/// The enclosing text declares the names of TeamText and the accumulators of ReductionText.
class TeamLoop {
 public:
  TeamLoop(const Kernel& kernel, const GridSchedule& schedule, ReductionText& reductions,
           TextLines& lines);

  /// Declares whether the addresses of the launch align vectors, in the scope of the function.
  void declare_alignment();
  /// Loads the sums of GridSchedule::held, in the scope around the outer points of a team that run
  /// in order; stores them after these.
  void load_held() { write_held(/*is_store=*/false); }
  void store_held() { write_held(/*is_store=*/true); }
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
  /// `count` turns of a lane, from its point `first` on. Those from turn `whole` on may have no
  /// point before `end`, or, if `may_end_within` is set, some of their points.
  struct Turns {
    std::int64_t count, whole;
    std::string first, end;
    bool may_end_within;
  };

  /// Names of an accumulating store's old values, and of the values that a turn stores.
  static std::string old_name(StageId stage, std::size_t store);
  static std::string stored_name(StageId stage, std::size_t store);

  static std::string held_name(OperandId operand) {
    return "held" + std::to_string(operand.number);
  }
  bool is_held(const Store& store) const;
  void write_held(bool is_store);
  std::vector<int> inner_axes() const;

  void hoist(const StageGroup& group);
  void find_loads(const StageGroup& group);
  bool loads_early() const;
  std::int64_t turns_in_flight(std::int64_t turns) const;
  void write_unrolled();
  void write_loop(const StageGroup& group);
  std::string first_of_lane() const;
  /// A loop over the points before `end`, several turns per iteration.
  void write_iterations(const std::string& end);
  void write_turns(const Turns& turns);
  void open_turn(const Turns& turns, std::int64_t in_flight);
  void declare_arrays(std::int64_t turns);
  void load_turn(PointText point);
  void compute_turn(PointText point);
  void compute_stage(const StageLoads& early, PointText& point);
  void write_store(const StageLoads& early, std::size_t number, PointText& point);
  void note_known(const PointText& point);

  // Turns of several points (team_vectors.cpp).
  std::string vector_condition(const Turns& turns) const;
  void declare_base();
  /// A loop over the elements `e` of a turn.
  void open_elements(const Turns& turns);
  void load_vectors(const Turns& turns);
  void compute_vectors(const Turns& turns);
  void compute_element(PointText element);
  void store_vectors(const StageLoads& early, const Turns& turns);

  void declare(const ExpressionFlags& wanted, PointText& point);
  void keep(ExpressionId one);

  const Kernel& kernel_;
  const GridSchedule& schedule_;
  ReductionText& reductions_;
  TextLines& lines_;
  PointText point_;  // the scope around the loop
  const VectorMemory memory_;
  TurnLoads turns_;
  std::vector<StageLoads> early_;  // of the current group
  const int lanes_, accumulators_;
  const int elements_;
  const std::int64_t lane_points_, stride_;  // points of a lane; points of all lanes in a turn
  const bool checks_indices_;
  ExpressionFlags can_hoist_;  // expressions that are invariant over inner points
  ExpressionFlags is_kept_;  // expressions whose values stay in registers
  ExpressionFlags is_known_;  // kept expressions that an earlier group has evaluated
};

}  // namespace kiln::codegen
