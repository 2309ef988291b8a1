// Runs the stages of a kernel at one outer point by a team of lanes, as GridSchedule says.
#pragma once

#include "backends/codegen/grid/grid_schedule.h"
#include "tests/backends/codegen/kernel_run.h"
#include "tests/backends/codegen/thread_order.h"

#include <functional>

namespace kiln::test {

class TeamRun {
 public:
  /// Calls record(number) after each point of a stage; the numbers are in the order in which plain
  /// loops reach the points.
  TeamRun(const codegen::Kernel& kernel, const codegen::GridSchedule& schedule, KernelRun& run,
          ThreadOrder order, std::function<void(std::int64_t number)> record);

  /// Runs all stages at the current outer point of the run.
  void run_stages();

  /// The result of a reduction over some inner points; `index` is the index of arg_max, else -1.
  struct Result {
    std::uint64_t bits = 0;
    std::int64_t index = -1;
  };
  /// Runs a stage over inner axes at the inner points [begin, end).
  Result run_stage(codegen::StageId stage, std::int64_t begin, std::int64_t end);
  void run_stage_once(codegen::StageId stage);
  /// Combines the results of contiguous ranges, given in their order.
  Result combine_parts(codegen::StageId stage, const std::vector<Result>& parts) const;
  void set_result(codegen::StageId stage, const Result& result);

 private:
  using Bits = std::uint64_t;

  /// Calls visit(lane, turn, point) at each inner point of [begin, end), lane after lane.
  using Visit = std::function<void(std::int64_t lane, std::int64_t turn, std::int64_t point)>;
  void visit_points(codegen::StageId stage, std::int64_t begin, std::int64_t end,
                    const Visit& visit);
  /// Runs a running stage, chunk after chunk.
  void run_chunks(codegen::StageId stage);
  void run_chunk(codegen::StageId stage, std::int64_t begin, Bits& carry);
  /// Replaces the values of lanes by their inclusive scan; returns the last one.
  Bits scan(const codegen::Stage& stage, Bits* lanes, std::int64_t count) const;
  Bits reduce(codegen::StageId stage, std::int64_t begin, std::int64_t end);
  Result find_arg_max(codegen::StageId stage, std::int64_t begin, std::int64_t end);
  Result first_best(const codegen::Stage& stage, const std::vector<Result>& values) const;
  /// The result of all lanes, combined by the form's tree. Changes `lanes`.
  Bits combine_lanes(const codegen::Stage& stage, std::vector<Bits>& lanes) const;
  Bits combine_warp(const codegen::Stage& stage, Bits* lanes, std::int64_t count) const;
  Bits combine(const codegen::Stage& stage, Bits x, Bits y) const;
  DType dtype_of(const codegen::Stage& stage) const;

  const codegen::Kernel& kernel_;
  const codegen::GridSchedule& schedule_;
  KernelRun& run_;
  const ThreadOrder order_;
  const std::function<void(std::int64_t)> record_;
  const std::int64_t lanes_, elements_;
};

}  // namespace kiln::test
