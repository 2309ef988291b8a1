// The mapping of a kernel's iteration domain to a grid of blocks of threads.
#pragma once

#include "backends/codegen/kernel/kernel.h"

#include <functional>

namespace kiln::codegen {

enum class GridForm : std::uint8_t {
  Points,   // a thread computes outer points; there are no inner axes
  Serial,   // a thread runs the loops of the other axes at its point, in their order
  Rows,     // a team of neighbouring threads computes one outer point
  Columns,  // the same; neighbouring threads belong to neighbouring points
  Owners,   // scatter-add: a block owns the elements that it adds to (owners.h)
  Tile,     // a block computes the points of two axes in squares; there are no inner axes
};

/// The schedule of one kernel. The points of `axes` are numbered row-major and spread over the
/// grid; the thread or team of a point runs the loops of the other outer axes in their order.
///
/// Serial: thread t of a grid of T threads computes points t, t + T, ...
///
/// Points: the same with groups of `elements` neighbouring points, `unroll` groups at a time, where
/// addresses and sizes align the vectors of vector_accesses(). Points after the last whole group,
/// or else all points, are computed one by one.
///
/// Tile: block b of B computes tiles b, b + B, ... of kTileSide x kTileSide points of `tile_axis`
/// (rows) and the last axis (columns), numbered row-major after the other axes. The accesses of
/// tile_accesses() pass through shared memory, so that threads touch neighbours on both sides.
///
/// Rows and Columns: a block is divided into teams of L = threads / teams lanes, L a power of two.
/// Team t of a grid of T teams computes points t, t + T, ... Thread x of a block is lane x % L of
/// team x / L (Rows), or lane x / teams of team x % teams (Columns). With the inner points numbered
/// row-major, lane l computes points l, l + L, ... of a stage over inner axes, point l + k * L with
/// accumulator k % accumulators_of(). Lane 0 runs stages without inner axes. A reduction combines
/// the accumulators of a lane in order, then
///   Rows     lanes of a warp by a butterfly of distances min(L, 32) / 2, ..., 2, 1, then warps in
///            order;
///   Columns  lanes in order.
/// All lanes then have the same result. Outside of unrolled loops, a sum of floats adds the terms
/// of an accumulator in chains of kChainTerms, and their sums in order, so that rounding errors
/// grow slowly with the number of terms.
///
/// A running stage goes over the inner points in chunks of kRunningTurns * L, with the value before
/// a chunk as carry. A warp of W = min(L, 32) lanes computes kRunningTurns * W neighbours of it, W
/// at a time, by a scan of distances 1, 2, ..., W / 2 over its lanes; the turns of a warp, then
/// warps, then chunks follow in order.
///
/// With `split` (split-k), several blocks may divide the inner points of the same outer points;
/// launch_of() chooses their number from the sizes and the device. Blocks part + k * parts of the
/// grid compute part `part` of each outer point: a contiguous range of the inner points. Each block
/// writes partial results to memory of the launch. The last block to finish combines them: lane l
/// combines parts l, l + L, ... in order, then lanes are combined as above. That block also runs
/// the stages without inner axes. The result does not depend on which block is the last.
///
/// Owners: for kernels that owners_reason() allows. A block computes units (owners.h): L outer
/// points and a range of values of the dynamic index. Thread x is lane x % L of team x / L; team t
/// owns values t, t + teams, ... of the range. The block evaluates the index at all inner points,
/// in order, in chunks that its threads divide; the team that owns an index then evaluates the
/// value to add and adds it. Unit 0 records the faults of indices that are out of range.
struct GridSchedule {
  GridForm form = GridForm::Points;
  int threads = 256;  // of a block
  std::vector<int> axes = {};  // outer ones, ascending; none: one thread or team computes all
  int teams = 1;               // of a block
  std::vector<int> kept = {};  // expressions that lanes compute in one stage and keep for others
  std::vector<int> barrier_before = {};  // stages that share memory with other lanes
  bool split = false;  // blocks may divide the inner points of an outer point
  std::string reason = {};  // of Serial; empty: nothing is reduced
  int elements = 1;    // Points: neighbours of a thread along the last axis, a power of two
  int unroll = 1;      // Points: groups whose loads a thread issues before it computes
  int tile_axis = -1;  // Tile: the rows

  bool operator==(const GridSchedule&) const = default;
};

/// The limits of a device; the defaults are those of an H100, with the static shared memory that
/// every device has. `part_points` is a constant of schedules, which tests lower.
struct GridDescription {
  int max_threads = 1024;  // of a block
  std::int64_t max_blocks = (std::int64_t{1} << 31) - 1;
  std::int64_t multiprocessors = 132;
  int resident_threads = 2048;  // of one multiprocessor
  int shared_bytes = 48 << 10;  // of a block
  int registers = 64 << 10;     // of a multiprocessor
  int part_points = 16;         // inner points of a lane where blocks divide them, at least
};

constexpr int kWarpLanes = 32;
constexpr std::int64_t kChainTerms = 64;  // terms of a chain of a sum of floats
constexpr int kRunningTurns = 4;          // points of a lane in a chunk of a running stage

/// A pure function of its arguments. Additions to one element keep the order that Store demands:
/// points that may meet at an element belong to one thread, or to one team that computes one outer
/// point after the other.
GridSchedule schedule_grid(const Kernel& kernel, const GridDescription& device);

bool has_teams(const GridSchedule& schedule);
/// Whether blocks consist of teams: Rows, Columns and Owners.
bool has_blocks(const GridSchedule& schedule);
int lanes_of(const GridSchedule& schedule);
/// The product of the inner extents; -1 where it is not static or too large.
std::int64_t static_inner_points(const Kernel& kernel);
/// Points of a stage that a lane computes at most; -1 where that is not static.
std::int64_t points_of_lane(const Kernel& kernel, const GridSchedule& schedule);
/// Whether the loop over a lane's points is unrolled, so that values can stay in registers.
bool is_unrolled(const Kernel& kernel, const GridSchedule& schedule);
/// Partial results of a lane in a reduction: 4, or fewer where a lane has fewer points.
int accumulators_of(const Kernel& kernel, const GridSchedule& schedule);
/// Whether a reduction adds its terms in chains of kChainTerms.
bool has_chains(const Kernel& kernel, const GridSchedule& schedule, const Stage& stage);

/// Elements of shared memory that a block needs for one reduction or one running stage; 0: none.
int shared_elements(const GridSchedule& schedule);
/// The shared memory of a block.
std::int64_t shared_bytes(const Kernel& kernel, const GridSchedule& schedule);

/// The grid for known sizes. The shared memory of blocks is static.
struct GridLaunch {
  std::int64_t points = 0;  // of the axes that are spread over the grid; 0: nothing to launch
  std::int64_t blocks = 0;  // a multiple of `parts`
  int threads = 0;          // of a block
  // Of a schedule with `split`; memory is needed where there are several parts.
  std::int64_t parts = 1;          // of each outer point
  std::int64_t part_points = 1;    // inner points of a part
  std::int64_t partial_bytes = 0;  // of partial results (split_rows.h), with any contents
  std::int64_t arrivals = 0;       // number of 32-bit counters: 0 before the launch and after it
};
GridLaunch launch_of(const Kernel& kernel, const GridSchedule& schedule,
                     const GridDescription& device,
                     const std::function<std::int64_t(const ir::Dim&)>& evaluate);

/// Throws InternalError naming the kernel and the broken rule: blocks fit the device, each outer
/// point is computed by one thread or team, no two of them add to one element, and lanes use what
/// other lanes wrote only after a barrier.
void verify(const Kernel& kernel, const GridSchedule& schedule, const GridDescription& device);

/// One line, as dumps show it.
std::string print(const GridSchedule& schedule);

}  // namespace kiln::codegen
