// Forms follow from inner axes, from the axis of neighbours in memory, and from additions.
#include "backends/codegen/grid/grid_schedule.h"

#include "backends/codegen/grid/additions.h"
#include "backends/codegen/grid/dependences.h"
#include "backends/codegen/grid/kept_values.h"
#include "backends/codegen/grid/owners.h"
#include "backends/codegen/grid/point_groups.h"
#include "backends/codegen/grid/tile.h"
#include "backends/codegen/grid/split_rows.h"
#include "backends/codegen/grid/static_points.h"
#include "backends/codegen/kernel/order_axes.h"

#include <algorithm>
#include <bit>
#include <numeric>

namespace kiln::codegen {
namespace {

constexpr int kThreads = 256;  // eight warps: enough to hide latency, few enough for all registers
constexpr int kBlockRowThreads = 128;  // where warps combine results: few wait at barriers
constexpr int kMaxLanes = 1024;
constexpr std::int64_t kPointsOfLane = 8;        // of a row
constexpr std::int64_t kUnrolledPoints = 16;     // of a lane
constexpr std::int64_t kMaxKeptRegisters = 64;   // of the 255 of a thread
constexpr std::int64_t kFewestRowPoints = 3;     // below, a thread runs all of them
constexpr std::int64_t kFewestRunningPoints = 64;  // below, a thread is done as soon
constexpr std::int64_t kWarpRunningTurns = 32;     // above, exchanges between warps save time
constexpr int kColumns = 32;
constexpr int kMaxColumnLanes = 64;  // each lane adds the results of all
constexpr std::int64_t kPointsOfColumnLane = 8;
constexpr std::int64_t kMaxSerialPoints = 512;  // of one accumulator: errors of sums stay small

/// static_points() of these axes.
std::int64_t static_points_of(const Kernel& kernel, const std::vector<int>& axes) {
  ir::Dims extents;
  for (const int axis : axes) extents.push_back(kernel.axes[static_cast<std::size_t>(axis)]);
  return static_points(extents);
}

bool has_running(const Kernel& kernel) {
  return std::any_of(kernel.stages.begin(), kernel.stages.end(),
                     [](const Stage& stage) { return stage.kind == StageKind::Running; });
}

/// The blocks that the device holds at a time.
std::int64_t resident_blocks(const GridSchedule& schedule, const GridDescription& device) {
  const int of_one = std::max(1, device.resident_threads / schedule.threads);
  return std::min(device.multiprocessors * of_one, device.max_blocks);
}

PartLimits limits_of(const GridSchedule& schedule, const GridDescription& device) {
  return {lanes_of(schedule), schedule.teams, resident_blocks(schedule, device),
          device.part_points};
}

class Chooser {
 public:
  Chooser(const Kernel& kernel, const GridDescription& device)
      : kernel_(kernel),
        device_(device),
        max_threads_(static_cast<int>(std::bit_floor(static_cast<unsigned>(device.max_threads)))),
        points_(static_inner_points(kernel)) {}

  GridSchedule run() {
    schedule_.axes = apart_axes(kernel_);
    schedule_.threads = std::min(kThreads, device_.max_threads);
    const int axes = static_cast<int>(kernel_.axes.size());
    const bool is_points = static_cast<int>(schedule_.axes.size()) == axes;
    schedule_.form = is_points ? GridForm::Points : GridForm::Serial;
    if (is_points) {
      choose_points();
    } else if (kernel_.outer < axes) {
      choose_for_inner_axes();
    }
    return schedule_;
  }

 private:
  void choose_points() {
    const bool has_rows = max_threads_ >= kTileSide;
    schedule_.tile_axis = has_rows ? choose_tile_axis(kernel_, device_.shared_bytes) : -1;
    if (schedule_.tile_axis >= 0) {
      schedule_.form = GridForm::Tile;
      schedule_.threads = std::min(kThreads, max_threads_);
      return;
    }
    const PointGroups groups =
        choose_point_groups(kernel_, device_.multiprocessors * schedule_.threads,
                            device_.multiprocessors * device_.resident_threads);
    schedule_.elements = groups.elements;
    schedule_.unroll = groups.unroll;
  }

  void choose_for_inner_axes() {
    if (adds_at_index(kernel_) && !order_reason(kernel_).empty()) return choose_owners();
    choose_teams();
  }

  void choose_owners() {
    schedule_.reason = owners_reason(kernel_);
    if (!schedule_.reason.empty()) return;
    if (points_ >= 0 && points_ < kFewestRowPoints) return give_up("few inner points");
    GridSchedule made = schedule_;
    made.form = GridForm::Owners;
    made.threads = std::min(kThreads, max_threads_);
    made.teams = made.threads / owner_lanes(static_points_of(kernel_, made.axes), made.threads);
    if (shared_bytes(kernel_, made) > device_.shared_bytes) return give_up("shared memory");
    schedule_ = made;
  }

  void choose_teams() {
    schedule_.reason = order_reason(kernel_);
    if (!schedule_.reason.empty()) return;
    if (has_running(kernel_)) return choose_running();
    const int last = static_cast<int>(kernel_.axes.size()) - 1;
    const int near = kernel_.vector_axis >= 0 ? kernel_.vector_axis : nearest_axis(kernel_);
    if (near == last) return choose_rows();
    const std::vector<int>& axes = schedule_.axes;
    const bool is_spread = std::find(axes.begin(), axes.end(), near) != axes.end();
    if (!is_spread) return give_up("neighbours in memory add to one element");
    choose_columns();
  }

  void give_up(const char* reason) { schedule_.reason = reason; }

  void choose_rows() {
    if (points_ >= 0 && points_ < kFewestRowPoints) return choose_lanes_alone();
    if (split_teams(GridForm::Rows, std::min(kThreads, max_threads_), 1)) return;
    int lanes = points_ < 0 ? kThreads : kWarpLanes;
    if (points_ >= 0 && points_ <= kWarpLanes) {
      lanes = static_cast<int>(std::bit_ceil(static_cast<std::uint64_t>(points_)));
    }
    while (points_ > lanes * kPointsOfLane && lanes < kMaxLanes) lanes *= 2;
    lanes = std::min(lanes, max_threads_);
    const int threads = lanes <= kWarpLanes ? kThreads : std::max(lanes, kBlockRowThreads);
    use_teams(GridForm::Rows, std::min(threads, max_threads_), lanes);
  }

  /// Always Rows. Lanes of rows that are strided in memory make strided loads: faster than one
  /// thread a row, unless there are rows for many threads.
  void choose_running() {
    if (points_ >= 0 && points_ < kFewestRunningPoints) return give_up("few inner points");
    const std::int64_t rows = static_points_of(kernel_, schedule_.axes);
    const std::int64_t threads = device_.multiprocessors * device_.resident_threads;
    const bool has_threads = rows < 0 || rows >= threads / 8;
    if (!has_inner_neighbours() && has_threads) return give_up("outer points for all threads");
    const bool is_long = points_ < 0 || points_ > kWarpLanes * kWarpRunningTurns;
    const int lanes = std::min(is_long ? kThreads : kWarpLanes, max_threads_);
    use_teams(GridForm::Rows, std::min(kThreads, max_threads_), lanes);
  }

  bool has_inner_neighbours() const {
    return std::any_of(kernel_.accesses.begin(), kernel_.accesses.end(), [](const Access& access) {
      const ir::Dim& stride = access.strides.back();
      return stride.is_static() && (stride.value() == 1 || stride.value() == -1);
    });
  }

  void choose_columns() {
    int columns = kColumns;
    const std::int64_t outer = static_points_of(kernel_, schedule_.axes);
    while (outer >= 0 && columns > 2 && columns / 2 >= outer) columns /= 2;
    int lanes = std::min(kThreads / columns, kMaxColumnLanes);
    while (points_ >= 0 && points_ < lanes * kPointsOfColumnLane && lanes > 1) lanes /= 2;
    lanes = std::min(lanes, max_threads_ / 2);
    if (lanes < 2) return choose_lanes_alone();
    if (has_points_for_all_threads()) return give_up("outer points for all threads");
    const int threads = std::min(lanes * columns, max_threads_);
    if (split_teams(GridForm::Columns, threads, threads / lanes)) return;
    use_teams(GridForm::Columns, threads, lanes);
  }

  /// Lets blocks divide the inner points where these are many and the outer ones few.
  bool split_teams(GridForm form, int threads, int teams) {
    GridSchedule made = schedule_;
    made.form = form;
    made.threads = threads;
    made.teams = teams;
    if (shared_bytes(kernel_, made) > device_.shared_bytes) return false;
    if (!may_have_parts(kernel_, limits_of(made, device_), points_)) return false;
    made.split = true;
    made.barrier_before = barrier_stages(kernel_);
    schedule_ = made;
    return true;
  }

  /// Teams of one lane where values can be kept in registers between stages, else Serial.
  void choose_lanes_alone() {
    const GridSchedule serial = schedule_;
    use_teams(GridForm::Rows, std::min(kThreads, max_threads_), 1);
    if (!schedule_.kept.empty()) return;
    schedule_ = serial;
    give_up("few inner points");
  }

  bool has_points_for_all_threads() const {
    if (points_ < 0 || points_ > kMaxSerialPoints) return false;
    const std::int64_t points = static_points_of(kernel_, schedule_.axes);
    return points >= device_.multiprocessors * device_.resident_threads;
  }

  void use_teams(GridForm form, int threads, int lanes) {
    GridSchedule made = schedule_;
    made.form = form;
    made.threads = threads;
    made.teams = threads / lanes;
    if (shared_bytes(kernel_, made) > device_.shared_bytes) return give_up("shared memory");
    schedule_ = made;
    schedule_.barrier_before = barrier_stages(kernel_);
    const std::int64_t points = points_of_lane(kernel_, schedule_);
    if (points == 0 || !is_unrolled(kernel_, schedule_) || has_running(kernel_)) return;
    // Half of a thread's registers at most: the others hold what a stage computes.
    const std::int64_t half = device_.registers / threads / 2;
    schedule_.kept = kept_values(kernel_, stage_groups(kernel_, schedule_.barrier_before), points,
                                 std::min(half, kMaxKeptRegisters));
  }

  const Kernel& kernel_;
  const GridDescription& device_;
  const int max_threads_;
  const std::int64_t points_;
  GridSchedule schedule_;
};

}  // namespace

GridSchedule schedule_grid(const Kernel& kernel, const GridDescription& device) {
  return Chooser(kernel, device).run();
}

bool has_teams(const GridSchedule& schedule) {
  return schedule.form == GridForm::Rows || schedule.form == GridForm::Columns;
}

bool has_blocks(const GridSchedule& schedule) {
  return has_teams(schedule) || schedule.form == GridForm::Owners;
}

int lanes_of(const GridSchedule& schedule) { return schedule.threads / schedule.teams; }

std::int64_t static_inner_points(const Kernel& kernel) {
  std::vector<int> axes(kernel.axes.size() - static_cast<std::size_t>(kernel.outer));
  std::iota(axes.begin(), axes.end(), kernel.outer);
  return static_points_of(kernel, axes);
}

std::int64_t points_of_lane(const Kernel& kernel, const GridSchedule& schedule) {
  const std::int64_t points = static_inner_points(kernel), lanes = lanes_of(schedule);
  return points < 0 ? -1 : (points + lanes - 1) / lanes;
}

bool is_unrolled(const Kernel& kernel, const GridSchedule& schedule) {
  const std::int64_t points = points_of_lane(kernel, schedule);
  return !schedule.split && points >= 0 && points <= kUnrolledPoints;
}

int accumulators_of(const Kernel& kernel, const GridSchedule& schedule) {
  constexpr std::int64_t kMost = 4;
  if (schedule.split) return kMost;
  const std::int64_t points = points_of_lane(kernel, schedule);
  return static_cast<int>(points < 0 ? kMost : std::clamp<std::int64_t>(points, 1, kMost));
}

bool has_chains(const Kernel& kernel, const GridSchedule& schedule, const Stage& stage) {
  const bool is_sum = stage.kind == StageKind::Reduce && stage.combiner == Combiner::Sum;
  return is_sum && !is_unrolled(kernel, schedule) &&
         is_float(kernel.expressions[static_cast<std::size_t>(stage.value)].dtype);
}

int shared_elements(const GridSchedule& schedule) {
  if (schedule.form == GridForm::Columns) return schedule.threads;
  const bool has_warps = has_teams(schedule) && lanes_of(schedule) > kWarpLanes;
  return has_warps ? schedule.threads / kWarpLanes : 0;
}

/// Bytes of the shared copy of the arrival counter, with padding for alignment.
constexpr std::int64_t kAlignedArrival = 16;

std::int64_t shared_bytes(const Kernel& kernel, const GridSchedule& schedule) {
  if (schedule.form == GridForm::Owners) return owner_shared_bytes(schedule.threads);
  if (schedule.form == GridForm::Tile) return tile_bytes(kernel, schedule.tile_axis);
  std::int64_t bytes = schedule.split ? kAlignedArrival : 0;
  for (const Stage& stage : kernel.stages) {
    if (stage.kind == StageKind::Map) continue;
    bytes += shared_elements(schedule) * partial_width(kernel, stage);
  }
  return bytes;
}

namespace {

/// Of a launch that has points and blocks.
void add_parts(GridLaunch& launch, const Kernel& kernel, const GridSchedule& schedule,
               const GridDescription& device,
               const std::function<std::int64_t(const ir::Dim&)>& evaluate) {
  std::int64_t inner = 1;
  for (std::size_t axis = static_cast<std::size_t>(kernel.outer); axis < kernel.axes.size();
       ++axis) {
    inner *= evaluate(kernel.axes[axis]);
  }
  const Parts parts = parts_of(limits_of(schedule, device), launch.points, inner);
  launch.parts = parts.count;
  launch.part_points = parts.points;
  if (parts.count == 1) return;
  launch.arrivals = launch.blocks;
  launch.blocks *= parts.count;
  launch.partial_bytes = partial_bytes(kernel, launch.points, parts.count);
}

}  // namespace

GridLaunch launch_of(const Kernel& kernel, const GridSchedule& schedule,
                     const GridDescription& device,
                     const std::function<std::int64_t(const ir::Dim&)>& evaluate) {
  const auto extent = [&](int axis) {
    return evaluate(kernel.axes[static_cast<std::size_t>(axis)]);
  };
  for (int axis = 0; axis < kernel.outer; ++axis) {
    if (extent(axis) == 0) return {};
  }
  GridLaunch launch;
  launch.threads = schedule.threads;
  launch.points = 1;
  for (const int axis : schedule.axes) launch.points *= extent(axis);
  const std::int64_t resident = std::max(1, device.resident_threads / schedule.threads);
  if (schedule.form == GridForm::Owners) {
    const std::int64_t blocks = owner_blocks(lanes_of(schedule), launch.points,
                                             evaluate(owner_limit(kernel)),
                                             device.multiprocessors, resident);
    launch.blocks = std::min(blocks, device.max_blocks);
    return launch;
  }
  // As many blocks as the device holds at a time: each thread or team then takes several points.
  const std::int64_t of_block =
      has_teams(schedule) ? schedule.teams : std::int64_t{schedule.threads} * schedule.elements;
  const std::int64_t blocks = schedule.form == GridForm::Tile
                                  ? tile_count(kernel, schedule.tile_axis, evaluate)
                                  : (launch.points - 1) / of_block + 1;
  launch.blocks = std::min(blocks, resident_blocks(schedule, device));
  if (schedule.split) add_parts(launch, kernel, schedule, device, evaluate);
  return launch;
}

}  // namespace kiln::codegen
