// GPU schedules: the mapping of a kernel's iteration domain to a grid of thread blocks.
#pragma once

#include "backends/codegen/kernel/kernel.h"

#include <functional>

namespace kiln::codegen {

/// A point is one tuple of axis indices, an outer point one of the outer axes. Threads are
/// consecutive when their numbers in the block are; a warp's loads are coalesced when consecutive
/// threads load consecutive elements.
enum class GridForm : std::uint8_t {
  Points,   // elementwise: no inner axes, each thread computes outer points
  Serial,   // fallback: one thread per outer point, which loops over the other axes in order
  Rows,     // reduction of contiguous rows: a team of consecutive threads per outer point
  Columns,  // reduction along a strided axis: a team per outer point, consecutive threads belong to
            // consecutive outer points
  Owners,  // scatter-add without atomics: each element is added to by one thread (owners.h)
  Tile,  // transpose: no inner axes, a block computes square tiles of two axes (tile.h)
};

/// The schedule of one kernel. The points of `axes` are numbered row-major and distributed over the
/// grid (grid-stride loops); the thread or team of a point loops over the other outer axes in
/// order. Sums are deterministic: the schedule fixes the tree in which every reduction combines its
/// terms, and no form adds by atomics.
///
/// Serial: thread t of a grid of T threads computes points t, t + T, ...
///
/// Points: the same with groups of `elements` consecutive points, `unroll` groups at a time, if the
/// addresses and sizes of the launch align the vectors of vector_accesses(). Points after the last
/// whole group (all points where vectors are unaligned) are computed one by one.
///
/// Tile: block b of B computes tiles b, b + B, ... of kTileSide x kTileSide points of `tile_axis`
/// (rows) and the last axis (columns), numbered row-major after the other axes. The accesses of
/// tile_accesses() are staged in shared memory, so that loads and stores are both coalesced.
///
/// Rows and Columns: a block is divided into teams of L = threads / teams lanes (threads), L a
/// power of two. Team t of a grid of T teams computes points t, t + T, ... Thread x of a block is
/// lane x % L of team x / L (Rows), or lane x / teams of team x % teams (Columns). With the inner
/// points numbered row-major, lane l computes groups l, l + L, ... of `elements` consecutive points
/// of a stage over inner axes, its k-th point with accumulator k % accumulators_of(). Lane 0 runs
/// stages without inner axes. The order does not depend on addresses: where a launch does not align
/// the vectors of vector_accesses(), lanes load and store the same points one by one. A reduction
/// combines the accumulators of a lane in order, then
///   Rows     lanes of a warp by butterfly shuffles of distances min(L, 32) / 2, ..., 2, 1, then
///            warps in order through shared memory;
///   Columns  lanes in order through shared memory.
/// All lanes then have the same result. Outside of unrolled loops, an accumulator of a float sum
/// adds its terms in chains of kChainTerms, and the sums of the chains in order (blocked
/// summation), so that rounding errors grow slowly with the number of terms.
///
/// A running stage (scan) processes the inner points in chunks of kRunningTurns * L and carries the
/// running value from chunk to chunk. Within a chunk, each warp of W = min(L, 32) lanes scans
/// kRunningTurns * W consecutive points, W at a time, by shuffles of distances 1, 2, ..., W / 2.
/// The rounds of a warp, then warps, then chunks are combined in order.
///
/// With `split_k`, several blocks may divide the inner points of the same outer points;
/// launch_of() chooses their number from the sizes and the device. Blocks part + k * parts of the
/// grid compute part `part` of each outer point: a contiguous range of the inner points. Each block
/// writes partial results to memory of the launch and increments a counter. The block that arrives
/// last combines them: lane l combines parts l, l + L, ... in order, then lanes are combined as
/// above. That block also runs the stages without inner axes. The order of parts is fixed, so the
/// result does not depend on which block is the last.
///
/// Owners: for kernels that owners_reason() admits. A block computes units (owners.h): L outer
/// points and a range of values of the dynamic index. Thread x is lane x % L of team x / L; team t
/// owns values t, t + teams, ... of the range. The block evaluates the index at all inner points,
/// in order, in chunks that its threads divide; the team that owns an index then evaluates the
/// value to add and adds it. Unit 0 records indices that are out of range.
///
/// Members that name a form keep their defaults in the others, so that schedules compare member by
/// member.
struct GridSchedule {
  GridForm form = GridForm::Points;
  int threads = 256;  // of a block
  std::vector<int> axes = {};  // parallel outer axes, ascending; none: one thread or team in all
  int teams = 1;  // of a block
  std::vector<ExpressionId> kept = {};  // in registers for later stages (kept_values.h)
  std::vector<StageId> barrier_before = {};  // before these stages (dependences.h)
  bool split_k = false;  // blocks may divide the inner points of an outer point
  std::string reason = {};  // for Serial; empty: nothing is reduced
  int elements = 1;  // Points, Rows: consecutive points of a thread along the last axis, a power
                     // of two
  int unroll = 1;  // Points: groups whose loads a thread issues before it computes
  int tile_axis = -1;  // Tile: the rows
  int batch = 1;  // launches that one launch may stand for (batch.h); 1: takes no table
  std::vector<OperandId> held = {};  // column sums in registers (held_sums.h)

  bool operator==(const GridSchedule&) const = default;
};

/// The limits of a device; the defaults are those of an H100, with the static shared memory that
/// every device has. `part_points` is a tuning constant, which tests lower.
struct GridDescription {
  int max_threads = 1024;  // of a block
  std::int64_t max_blocks = (std::int64_t{1} << 31) - 1;
  std::int64_t multiprocessors = 132;
  int resident_threads = 2048;  // of one multiprocessor
  int shared_bytes = 48 << 10;  // of a block
  int registers = 64 << 10;  // of a multiprocessor
  int part_points = 16;  // minimum of inner points of a lane in a part of a split reduction
};

constexpr int kWarpLanes = 32;
constexpr std::int64_t kChainTerms = 64;  // terms of a chain of a float sum
constexpr int kRunningTurns = 4;  // points of a lane in a chunk of a running stage

/// Chooses the schedule of a kernel; a pure function of its arguments. The choice, in this order:
///   no inner axes, all outer axes parallel  Tile if some access is transposed, else Points
///   no inner axes otherwise                 Serial
///   scatter-adds to one element in order    Owners if owners_reason() is empty, else Serial
///   inner points with dependences           Serial
///   a running stage                         Rows, with a warp or a block per outer point
///   contiguous inner points                 Rows, split-k if outer points are few, vectors if
///                                           these leave few lanes idle
///   contiguous outer points                 Columns; Serial if outer points fill all threads
/// Additions to one element keep the order that Store demands: points that may add to the same
/// element are computed by one thread, or by one team, one after the other.
GridSchedule schedule_grid(const Kernel& kernel, const GridDescription& device);

bool has_teams(const GridSchedule& schedule);
/// Whether blocks consist of teams: Rows, Columns and Owners.
bool has_blocks(const GridSchedule& schedule);
int lanes_of(const GridSchedule& schedule);
/// The number of inner points; -1: not static, or 2^63 and more.
std::int64_t static_inner_points(const Kernel& kernel);
/// The maximum of a lane's points in a stage over inner axes; -1: not static.
std::int64_t points_of_lane(const Kernel& kernel, const GridSchedule& schedule);
/// Whether the loop over a lane's points is unrolled, so that values can stay in registers.
bool is_unrolled(const Kernel& kernel, const GridSchedule& schedule);
/// Accumulators of a lane in a reduction: 4, for instruction-level parallelism, or fewer where a
/// lane has fewer points.
int accumulators_of(const Kernel& kernel, const GridSchedule& schedule);
/// Whether the stage is a float sum that adds its terms in chains of kChainTerms.
bool has_chains(const Kernel& kernel, const GridSchedule& schedule, const Stage& stage);

/// Elements of shared memory that a block needs for one reduction or one running stage; 0: none.
int shared_elements(const GridSchedule& schedule);
/// The shared memory of a block.
std::int64_t shared_bytes(const Kernel& kernel, const GridSchedule& schedule);

/// The grid for known sizes. The shared memory of blocks is static.
struct GridLaunch {
  std::int64_t points = 0;  // of the parallel axes; 0: nothing to launch
  std::int64_t blocks = 0;  // a multiple of `parts`
  int threads = 0;  // of a block
  // With GridSchedule::split_k; memory is needed only for several parts.
  std::int64_t parts = 1;  // of each outer point
  std::int64_t part_points = 1;  // inner points of a part
  std::int64_t partial_bytes = 0;  // of partial results (split_rows.h), with any contents
  std::int64_t arrivals = 0;  // number of 32-bit counters: 0 before the launch and after it
};
GridLaunch launch_of(const Kernel& kernel, const GridSchedule& schedule,
                     const GridDescription& device,
                     const std::function<std::int64_t(const ir::Dim&)>& evaluate);

/// Throws InternalError naming the kernel and the violated rule: blocks fit the device, each outer
/// point is computed by one thread or team, no two of them add to one element, and lanes read the
/// stores of other lanes only after a barrier.
void verify(const Kernel& kernel, const GridSchedule& schedule, const GridDescription& device);

/// One line, as dumps show it.
std::string print(const GridSchedule& schedule);

}  // namespace kiln::codegen
