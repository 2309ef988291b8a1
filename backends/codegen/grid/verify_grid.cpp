// Checks the rules of a schedule from the accesses of the kernel, independently of the scheduler.
#include "backends/codegen/grid/additions.h"
#include "backends/codegen/grid/batch.h"
#include "backends/codegen/grid/dependences.h"
#include "backends/codegen/grid/grid_schedule.h"
#include "backends/codegen/grid/held_sums.h"
#include "backends/codegen/grid/kept_values.h"
#include "backends/codegen/grid/owners.h"
#include "backends/codegen/grid/point_groups.h"
#include "backends/codegen/grid/tile.h"
#include "backends/codegen/grid/vector_access.h"
#include "backends/codegen/grid/split_rows.h"

#include "core/types/text.h"

#include <kiln/error.h>

#include <algorithm>
#include <bit>

namespace kiln::codegen {
namespace {

class Verifier {
 public:
  Verifier(const Kernel& kernel, const GridSchedule& schedule, const GridDescription& device)
      : kernel_(kernel), schedule_(schedule), device_(device) {}

  void run() const {
    require(schedule_.threads > 0 && schedule_.threads <= device_.max_threads,
            "its blocks do not fit the device");
    require(schedule_.batch >= 1 &&
                schedule_.batch == rows_of_table(kernel_, schedule_, schedule_.batch),
            "its launches cannot be batched");
    check_axes();
    check_groups();
    if (has_teams(schedule_)) return check_teams();
    require(schedule_.kept.empty() && schedule_.held.empty() && schedule_.barrier_before.empty() &&
                !schedule_.split_k,
            "its form has no teams");
    if (schedule_.form == GridForm::Owners) return check_owners();
    require(schedule_.teams == 1, "its form has no teams");
    require(schedule_.form == GridForm::Serial || schedule_.axes.size() == kernel_.axes.size(),
            "some of its axes are not parallel");
    if (schedule_.form == GridForm::Tile) check_tile();
  }

 private:
  void check_axes() const {
    const std::vector<int>& axes = schedule_.axes;
    const bool is_ascending =
        std::adjacent_find(axes.begin(), axes.end(), std::greater_equal<>()) == axes.end();
    const auto is_outer = [&](int axis) { return axis >= 0 && axis < kernel_.outer; };
    require(is_ascending && std::all_of(axes.begin(), axes.end(), is_outer),
            "threads share an outer point");
    if (!adds_to_memory(kernel_)) return;
    const std::vector<int> parallel = parallel_axes(kernel_);
    require(std::includes(parallel.begin(), parallel.end(), axes.begin(), axes.end()),
            "threads add to one element");
  }

  void check_owners() const {
    require(owners_reason(kernel_).empty(), "owners cannot compute it");
    require(static_cast<int>(schedule_.axes.size()) == kernel_.outer,
            "owners do not divide all outer axes");
    check_blocks();
    require(std::has_single_bit(static_cast<unsigned>(schedule_.teams)),
            "the number of owner teams is not a power of two");
  }

  void check_groups() const {
    const int elements = schedule_.elements, unroll = schedule_.unroll;
    const bool is_group = elements > 0 && elements <= kMaxElements &&
                          std::has_single_bit(static_cast<unsigned>(elements)) && unroll > 0 &&
                          unroll <= kMaxUnroll;
    require(is_group, "its point groups have an invalid size");
    const bool is_points = schedule_.form == GridForm::Points && !kernel_.axes.empty();
    const bool is_rows = schedule_.form == GridForm::Rows;
    require((elements == 1 || is_points || is_rows) && (unroll == 1 || is_points),
            "its form has no point groups");
    const bool fits =
        is_rows ? fits_row_vectors(kernel_, elements) : fits_vectors(kernel_, elements);
    require(elements == 1 || fits, "its vectors are not contiguous");
  }

  void check_tile() const {
    require(schedule_.threads % kTileSide == 0 && kTileSide % (schedule_.threads / kTileSide) == 0,
            "its blocks do not cover whole rows of a tile");
    require(tile_reason(kernel_, schedule_.tile_axis).empty(), "its tile axis cannot be tiled");
    require(shared_bytes(kernel_, schedule_) <= device_.shared_bytes,
            "its blocks do not fit shared memory");
  }

  void check_blocks() const {
    const int teams = schedule_.teams;
    require(teams > 0 && schedule_.threads % teams == 0, "its blocks do not divide into teams");
    require(std::has_single_bit(static_cast<unsigned>(lanes_of(schedule_))),
            "the number of lanes of a team is not a power of two");
    require(kernel_.outer < static_cast<int>(kernel_.axes.size()), "teams without inner axes");
    require(shared_bytes(kernel_, schedule_) <= device_.shared_bytes,
            "its blocks do not fit shared memory");
  }

  void check_teams() const {
    check_blocks();
    require(order_reason(kernel_).empty(), "lanes divide points that run in order");
    require(!has_running() || schedule_.form == GridForm::Rows,
            "form Columns with a running stage");
    require(!has_running() || schedule_.teams == 1 || lanes_of(schedule_) <= kWarpLanes,
            "a running stage with several teams of several warps");
    check_barriers();
    check_kept();
    check_held();
    if (schedule_.split_k) check_split();
  }

  void check_split() const {
    require(split_reason(kernel_).empty(),
            "blocks divide inner points that a stage needs together");
    require(static_cast<int>(schedule_.axes.size()) == kernel_.outer,
            "blocks divide points that run in order");
    require(4 * lanes_of(schedule_) % schedule_.elements == 0, "parts begin within a vector");
  }

  void check_barriers() const {
    for (const StageId stage : schedule_.barrier_before) {
      require(stage > StageId(0) && stage <= kernel_.stages.back_id(),
              "a barrier before a stage that does not exist");
    }
    for (const StageId later : kernel_.stages.ids()) {
      for (const StageId earlier : IdRange{StageId(0), later}) {
        const auto is_between = [&](StageId one) { return one > earlier && one <= later; };
        const std::vector<StageId>& before = schedule_.barrier_before;
        require(std::any_of(before.begin(), before.end(), is_between) ||
                    !needs_barrier(kernel_, earlier, later),
                "lanes read stores of other lanes without a barrier");
      }
    }
  }

  bool has_running() const {
    return std::any_of(kernel_.stages.begin(), kernel_.stages.end(),
                       [](const Stage& stage) { return stage.kind == StageKind::Running; });
  }

  void check_held() const {
    if (schedule_.held.empty()) return;
    require(is_unrolled(kernel_, schedule_) && points_of_lane(kernel_, schedule_) > 0,
            "it holds sums across a loop that is not unrolled");
    for (const OperandId one : schedule_.held) {
      require(one && one <= kernel_.operands.back_id() && held_sum(kernel_, schedule_.axes, one),
              "it holds an operand that is no column sum of its lanes");
    }
  }

  void check_kept() const {
    if (schedule_.kept.empty()) return;
    require(is_unrolled(kernel_, schedule_), "it keeps values across a loop that is not unrolled");
    require(points_of_lane(kernel_, schedule_) > 0, "it keeps values of lanes without points");
    for (const ExpressionId one : schedule_.kept) {
      require(!has_running(), "it keeps values across a running stage");
      require(one && one <= kernel_.expressions.back_id() && can_be_kept(kernel_, one),
              "it keeps a value that changes");
    }
  }

  void require(bool holds, const char* what) const {
    if (holds) return;
    throw InternalError("compile", "",
                        text("the grid schedule of kernel ", kernel_.name, ": ", what));
  }

  const Kernel& kernel_;
  const GridSchedule& schedule_;
  const GridDescription& device_;
};

}  // namespace

void verify(const Kernel& kernel, const GridSchedule& schedule, const GridDescription& device) {
  Verifier(kernel, schedule, device).run();
}

}  // namespace kiln::codegen
