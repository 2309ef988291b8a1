// The form follows from the inner axes, the contiguous axis, and accumulating stores.
#include "backends/codegen/grid/grid_schedule.h"

#include "backends/codegen/grid/additions.h"
#include "backends/codegen/grid/dependences.h"
#include "backends/codegen/grid/held_sums.h"
#include "backends/codegen/grid/kept_values.h"
#include "backends/codegen/grid/owners.h"
#include "backends/codegen/grid/point_groups.h"
#include "backends/codegen/grid/tile.h"
#include "backends/codegen/grid/split_rows.h"
#include "backends/codegen/grid/static_points.h"
#include "backends/codegen/grid/vector_access.h"
#include "backends/codegen/kernel/order_axes.h"

#include <algorithm>
#include <bit>
#include <numeric>

namespace kiln::codegen {
namespace {

constexpr int kThreads = 256;  // eight warps hide latency, and each thread may use all registers
constexpr int kBlockRowThreads = 128;  // with a team per block: fewer threads wait at barriers
constexpr int kMaxLanes = 1024;
constexpr std::int64_t kPointsOfLane = 8;        // Rows: with more, a team gets more lanes
constexpr std::int64_t kUnrolledPoints = 16;     // of a lane, at most
constexpr std::int64_t kMaxKeptRegisters = 64;   // of the 255 of a thread
constexpr std::int64_t kMinRowPoints = 3;        // of a team; below, one thread loops over them
constexpr std::int64_t kMinRunningPoints = 64;   // of a scan; below, one thread is as fast
constexpr std::int64_t kWarpRunningTurns = 32;   // with longer scans, several warps are faster
constexpr int kColumns = 32;                     // outer points of a block of Columns
constexpr int kMaxColumnLanes = 64;  // each lane combines the results of all
constexpr std::int64_t kPointsOfColumnLane = 8;
constexpr std::int64_t kMaxSerialPoints = 512;  // of one accumulator: bounds rounding errors

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

/// The number of blocks that are resident on the device at a time.
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
    schedule_.axes = parallel_axes(kernel_);
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
    if (points_ >= 0 && points_ < kMinRowPoints) return use_serial("few inner points");
    GridSchedule owners = schedule_;
    owners.form = GridForm::Owners;
    owners.threads = std::min(kThreads, max_threads_);
    owners.teams =
        owners.threads / owner_lanes(static_points_of(kernel_, owners.axes), owners.threads);
    if (shared_bytes(kernel_, owners) > device_.shared_bytes) return use_serial("shared memory");
    schedule_ = owners;
  }

  void choose_teams() {
    schedule_.reason = order_reason(kernel_);
    if (!schedule_.reason.empty()) return;
    if (has_running(kernel_)) return choose_running();
    const int last = static_cast<int>(kernel_.axes.size()) - 1;
    const int contiguous = kernel_.vector_axis >= 0 ? kernel_.vector_axis : nearest_axis(kernel_);
    if (contiguous == last) return choose_rows();
    const std::vector<int>& axes = schedule_.axes;
    const bool is_parallel = std::find(axes.begin(), axes.end(), contiguous) != axes.end();
    if (!is_parallel) return use_serial("points along the contiguous axis add to one element");
    choose_columns();
  }

  /// Keeps the form Serial and records the reason.
  void use_serial(const char* reason) { schedule_.reason = reason; }

  void choose_rows() {
    if (points_ >= 0 && points_ < kMinRowPoints) return choose_single_lanes();
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

  /// Chooses Rows for scans. If rows are strided in memory, the loads of lanes are strided, too;
  /// that is still faster than one thread per row, unless there are rows for many threads.
  void choose_running() {
    if (points_ >= 0 && points_ < kMinRunningPoints) return use_serial("few inner points");
    const std::int64_t rows = static_points_of(kernel_, schedule_.axes);
    const std::int64_t threads = device_.multiprocessors * device_.resident_threads;
    const bool has_threads = rows < 0 || rows >= threads / 8;
    if (!is_inner_contiguous() && has_threads) return use_serial("outer points for all threads");
    const bool is_long = points_ < 0 || points_ > kWarpLanes * kWarpRunningTurns;
    const int lanes = std::min(is_long ? kThreads : kWarpLanes, max_threads_);
    use_teams(GridForm::Rows, std::min(kThreads, max_threads_), lanes);
  }

  bool is_inner_contiguous() const {
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
    if (lanes < 2) return choose_single_lanes();
    if (has_points_for_all_threads()) return use_serial("outer points for all threads");
    const int threads = std::min(lanes * columns, max_threads_);
    if (split_teams(GridForm::Columns, threads, threads / lanes)) return;
    use_teams(GridForm::Columns, threads, lanes);
  }

  /// Split-k: lets blocks divide the inner points where these are many and the outer ones few.
  bool split_teams(GridForm form, int threads, int teams) {
    GridSchedule split = schedule_;
    split.form = form;
    split.threads = threads;
    split.teams = teams;
    choose_elements(split);
    if (shared_bytes(kernel_, split) > device_.shared_bytes) return false;
    if (!may_have_parts(kernel_, limits_of(split, device_), points_)) return false;
    split.split_k = true;
    split.barrier_before = barrier_stages(kernel_);
    schedule_ = split;
    return true;
  }

  /// Vectors as wide as possible, unless that leaves lanes idle.
  void choose_elements(GridSchedule& teams) const {
    if (teams.form != GridForm::Rows) return;
    const auto fits = [&](int elements) {
      const std::int64_t round = std::int64_t{elements} * lanes_of(teams);
      const std::int64_t idle = (round - points_ % round) % round;  // points of the last turn
      return (points_ < 0 || idle <= points_ / 4) && fits_row_vectors(kernel_, elements);
    };
    teams.elements = widest_vector(kernel_);
    while (teams.elements > 1 && !fits(teams.elements)) teams.elements /= 2;
  }

  /// Teams of one lane if values can be kept in registers between stages, else Serial.
  void choose_single_lanes() {
    const GridSchedule serial = schedule_;
    use_teams(GridForm::Rows, std::min(kThreads, max_threads_), 1);
    if (!schedule_.kept.empty()) return;
    schedule_ = serial;
    use_serial("few inner points");
  }

  bool has_points_for_all_threads() const {
    if (points_ < 0 || points_ > kMaxSerialPoints) return false;
    const std::int64_t points = static_points_of(kernel_, schedule_.axes);
    return points >= device_.multiprocessors * device_.resident_threads;
  }

  void use_teams(GridForm form, int threads, int lanes) {
    GridSchedule teams = schedule_;
    teams.form = form;
    teams.threads = threads;
    teams.teams = threads / lanes;
    choose_elements(teams);
    if (shared_bytes(kernel_, teams) > device_.shared_bytes) return use_serial("shared memory");
    schedule_ = teams;
    schedule_.barrier_before = barrier_stages(kernel_);
    const std::int64_t points = points_of_lane(kernel_, schedule_);
    if (points == 0 || !is_unrolled(kernel_, schedule_) || has_running(kernel_)) return;
    // At most half of a thread's registers: a stage needs the others for its own values.
    const std::int64_t half = device_.registers / threads / 2;
    const std::int64_t registers = std::min(half, kMaxKeptRegisters);
    schedule_.kept =
        kept_values(kernel_, stage_groups(kernel_, schedule_.barrier_before), points, registers);
    schedule_.held = choose_held_sums(kernel_, schedule_.axes, points, registers);
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
  const std::int64_t points = static_inner_points(kernel);
  const std::int64_t round = std::int64_t{lanes_of(schedule)} * schedule.elements;
  return points < 0 ? -1 : (points + round - 1) / round * schedule.elements;
}

bool is_unrolled(const Kernel& kernel, const GridSchedule& schedule) {
  const std::int64_t points = points_of_lane(kernel, schedule);
  return !schedule.split_k && points >= 0 && points <= kUnrolledPoints;
}

int accumulators_of(const Kernel& kernel, const GridSchedule& schedule) {
  constexpr std::int64_t kMaxAccumulators = 4;
  if (schedule.split_k) return kMaxAccumulators;
  const std::int64_t points = points_of_lane(kernel, schedule);
  if (points < 0) return kMaxAccumulators;
  return static_cast<int>(std::clamp<std::int64_t>(points, 1, kMaxAccumulators));
}

bool has_chains(const Kernel& kernel, const GridSchedule& schedule, const Stage& stage) {
  const bool is_sum = stage.kind == StageKind::Reduce && stage.combiner == Combiner::Sum;
  return is_sum && !is_unrolled(kernel, schedule) &&
         is_float(kernel.expressions[stage.value].dtype);
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
  std::int64_t bytes = schedule.split_k ? kAlignedArrival : 0;
  for (const Stage& stage : kernel.stages) {
    if (stage.kind == StageKind::Map) continue;
    bytes += shared_elements(schedule) * partial_width(kernel, stage);
  }
  return bytes;
}

namespace {

/// Divides the inner points among blocks. REQUIRES: the launch has points and blocks.
void add_parts(GridLaunch& launch, const Kernel& kernel, const GridSchedule& schedule,
               const GridDescription& device,
               const std::function<std::int64_t(const ir::Dim&)>& evaluate) {
  std::int64_t inner = 1;
  for (std::size_t axis = static_cast<std::size_t>(kernel.outer); axis < kernel.axes.size();
       ++axis) {
    inner = saturated_product(inner, evaluate(kernel.axes[axis]));
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
  for (const int axis : schedule.axes) {
    launch.points = saturated_product(launch.points, extent(axis));
  }
  const std::int64_t resident = std::max(1, device.resident_threads / schedule.threads);
  if (schedule.form == GridForm::Owners) {
    const std::int64_t blocks =
        owner_blocks(lanes_of(schedule), launch.points, evaluate(owner_limit(kernel)),
                     device.multiprocessors, resident);
    launch.blocks = std::min(blocks, device.max_blocks);
    return launch;
  }
  // No more blocks than are resident at a time; a grid-stride loop covers the remaining points.
  const std::int64_t of_block =
      has_teams(schedule) ? schedule.teams : std::int64_t{schedule.threads} * schedule.elements;
  const std::int64_t blocks = schedule.form == GridForm::Tile
                                  ? tile_count(kernel, schedule.tile_axis, evaluate)
                                  : (launch.points - 1) / of_block + 1;
  launch.blocks = std::min(blocks, resident_blocks(schedule, device));
  if (schedule.split_k) add_parts(launch, kernel, schedule, device, evaluate);
  return launch;
}

}  // namespace kiln::codegen
