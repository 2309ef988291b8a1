// Runs lanes one after the other at each point of the index list.
#include "tests/backends/codegen/owners_run.h"

#include "backends/codegen/grid/owners.h"

#include <algorithm>

namespace kiln::test {

using namespace codegen;

namespace {

class OwnersRun {
 public:
  OwnersRun(const Kernel& kernel, const GridSchedule& schedule, KernelRun& run,
            const GridCall& call, const KernelArguments& arguments,
            const std::function<void(std::int64_t)>& record)
      : schedule_(schedule),
        run_(run),
        call_(call),
        out_of_range_(*arguments.out_of_range),
        record_(record) {
    const ir::Dim& limit = owner_limit(kernel);
    limit_ = limit.is_static() ? limit.value() : call.sizes[size_argument(kernel, limit)];
  }

  void run() {
    const OwnerUnits units = owner_units(lanes_of(schedule_), call_.points, call_.blocks, limit_);
    for (std::int64_t turn = 0; turn < units.count(); ++turn) {
      run_unit(units, thread_at(call_.order, turn, units.count()));
    }
  }

 private:
  void run_unit(const OwnerUnits& units, std::int64_t unit) {
    const std::int64_t lanes = lanes_of(schedule_), first_point = unit / units.ranges * lanes;
    const std::int64_t live = std::min(lanes, call_.points - first_point);
    const std::int64_t first = unit % units.ranges * units.share;
    const std::int64_t inner = run_.inner_points();
    go_to(0);
    for (std::int64_t p = 0; p < inner; ++p) {
      run_.move_to(p);
      const std::optional<std::int64_t> index = run_.index_at_point(StageId(0));
      out_of_range_ = {};  // noted where the point is finished
      if (!index) continue;
      const bool is_inside = *index >= 0 && *index < limit_;
      if (!is_inside && unit == 0) finish(p);
      if (!is_inside || *index < first || *index - first >= units.share) continue;
      for (std::int64_t i = 0; i < live; ++i) {
        go_to(first_point + thread_at(call_.order, i, live));
        run_.move_to(p);
        finish(p);
      }
      go_to(0);
    }
  }

  void go_to(std::int64_t outer_point) {
    run_.visit_outer(schedule_.axes, outer_point, [] {});
  }

  void finish(std::int64_t p) {
    run_.finish_point(StageId(0));
    record_(run_.outer_number() * run_.inner_points() + p);
  }

  const GridSchedule& schedule_;
  KernelRun& run_;
  const GridCall& call_;
  IndexOutOfRange& out_of_range_;
  const std::function<void(std::int64_t)>& record_;
  std::int64_t limit_ = 0;
};

}  // namespace

void run_owners(const Kernel& kernel, const GridSchedule& schedule, KernelRun& run,
                const GridCall& call, const KernelArguments& arguments,
                const std::function<void(std::int64_t)>& record) {
  OwnersRun(kernel, schedule, run, call, arguments, record).run();
}

}  // namespace kiln::test
