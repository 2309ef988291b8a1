// The stages of a kernel at one outer point by a team of lanes, as GridSchedule says.
#pragma once

#include "backends/codegen/grid/grid_schedule.h"
#include "tests/codegen/kernel_run.h"
#include "tests/codegen/thread_order.h"

#include <functional>

namespace kiln::test {

class TeamRun {
 public:
  /// Calls record(number) after each point of a stage; the numbers are in the order in which plain
  /// loops reach the points.
  TeamRun(const codegen::Kernel& kernel, const codegen::GridSchedule& schedule, KernelRun& run,
          ThreadOrder order, std::function<void(std::int64_t number)> record);

  /// At the outer point where the run is.
  void run_stages();

 private:
  using Bits = std::uint64_t;

  void run_stage(std::size_t stage);
  /// Calls visit(lane, number of the lane's point) at each inner point, lane after lane.
  void visit_points(std::size_t stage,
                    const std::function<void(std::int64_t lane, std::int64_t turn)>& visit);
  void reduce(std::size_t stage);
  void find_place(std::size_t stage);
  /// The result of all lanes, by the tree of the form. Changes `lanes`.
  Bits combine_lanes(const codegen::Stage& stage, std::vector<Bits>& lanes) const;
  Bits combine_warp(const codegen::Stage& stage, Bits* lanes, std::int64_t count) const;
  Bits combine(const codegen::Stage& stage, Bits x, Bits y) const;
  DType dtype_of(const codegen::Stage& stage) const;

  const codegen::Kernel& kernel_;
  const codegen::GridSchedule& schedule_;
  KernelRun& run_;
  const ThreadOrder order_;
  const std::function<void(std::int64_t)> record_;
  const std::int64_t lanes_;
};

}  // namespace kiln::test
