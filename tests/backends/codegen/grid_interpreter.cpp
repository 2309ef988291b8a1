// Runs the points of threads or teams one after the other, and records the first
// index out of range.
#include "tests/backends/codegen/grid_interpreter.h"

#include "tests/backends/codegen/kernel_run.h"
#include "tests/backends/codegen/owners_run.h"
#include "tests/backends/codegen/point_run.h"
#include "tests/backends/codegen/split_run.h"
#include "tests/backends/codegen/team_run.h"

#include <algorithm>

namespace kiln::test {

using namespace codegen;

struct GridKernel::State {
  PreparedKernel prepared;
  GridSchedule schedule;
};

namespace {

/// Keeps the index out of range with the lowest (step, point).
void record(CallBlock& call, std::int32_t step, std::int64_t point,
            const IndexOutOfRange& out_of_range) {
  const bool is_first =
      call.access < 0 || step < call.step || (step == call.step && point < call.point);
  if (out_of_range.access < 0 || !is_first) return;
  call.step = step;
  call.point = point;
  call.access = out_of_range.access;
  call.index = out_of_range.index;
  call.limit = out_of_range.limit;
}

}  // namespace

GridKernel::GridKernel(const Kernel& kernel, const GridSchedule& schedule)
    : state_(std::make_unique<const State>(State{prepare(kernel), schedule})) {}
GridKernel::~GridKernel() = default;
GridKernel::GridKernel(GridKernel&&) noexcept = default;
GridKernel& GridKernel::operator=(GridKernel&&) noexcept = default;

const Kernel& GridKernel::kernel() const { return state_->prepared.kernel; }
const GridSchedule& GridKernel::schedule() const { return state_->schedule; }

void GridKernel::run(const GridCall& call) const {
  if (call.call->step < call.step || call.points == 0) return;
  IndexOutOfRange out_of_range;
  KernelArguments arguments;
  arguments.buffers = call.buffers;
  arguments.sizes = call.sizes;
  arguments.out_of_range = &out_of_range;
  arguments.seed = call.call->seed;
  arguments.call_counter = call.call->call_counter;
  KernelRun run(state_->prepared, arguments);
  run.round_partial_sums();  // as the text does
  const auto note = [&](std::int64_t number) {
    record(*call.call, call.step, number, out_of_range);
    out_of_range = {};
  };
  const GridSchedule& schedule = state_->schedule;
  if (schedule.form == GridForm::Owners) {
    return run_owners(kernel(), schedule, run, call, arguments, note);
  }
  TeamRun team(kernel(), schedule, run, call.order, note);
  if (schedule.split_k && run.inner_points() > call.part_points) {
    return SplitRun(kernel(), schedule, run, team, call).run();
  }
  const auto run_point = [&] {
    if (has_teams(schedule)) return team.run_stages();
    run.run_stages();
    note(run.outer_number());
  };
  const bool is_grouped = schedule.elements > 1 || schedule.unroll > 1;
  if ((schedule.form == GridForm::Points && is_grouped) || schedule.form == GridForm::Tile) {
    return visit_points(
        schedule, {call.points, call.blocks, run.extents(), call.order},
        [&](std::int64_t number) { run.visit_outer(schedule.axes, number, run_point); });
  }
  const std::int64_t stride =
      call.blocks * (has_teams(schedule) ? schedule.teams : schedule.threads);
  const std::int64_t workers = std::min(stride, call.points - call.begin);  // with a point
  for (std::int64_t i = 0; i < workers; ++i) {
    const std::int64_t worker = thread_at(call.order, i, workers);
    for (std::int64_t point = call.begin + worker; point < call.points; point += stride) {
      run.visit_outer(schedule.axes, point, run_point);
    }
  }
}

}  // namespace kiln::test
