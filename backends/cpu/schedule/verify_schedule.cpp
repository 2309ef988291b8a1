// Checks what code relies on, from the kernel alone, independently of the decisions.
#include "backends/codegen/kernel/order_axes.h"
#include "backends/cpu/schedule/cpu_schedule.h"

#include "core/types/at.h"
#include "core/types/text.h"

#include <kiln/error.h>

#include <algorithm>

namespace kiln::cpu {
namespace {

using namespace codegen;

class Verifier {
 public:
  Verifier(const Kernel& kernel, const CpuSchedule& schedule, const CpuDescription& cpu)
      : kernel_(kernel), schedule_(schedule), cpu_(cpu), levels_(kernel) {}

  void run() const {
    check_sizes();
    check_lanes();
    check_groups();
    check_row_blocks();
    check_tiles();
    check_streams();
    check_prefetches();
    check_checked_rows();
    check_forms();
  }

 private:
  void check_sizes() const {
    const CpuSchedule& s = schedule_;
    require(s.prefetches.size() == kernel_.operands.size() &&
                s.checked_rows.size() == kernel_.accesses.size() &&
                s.short_forms.size() == kernel_.expressions.size() &&
                s.minmax_forms.size() == kernel_.stages.size(),
            "a list has another size than the kernel's");
  }

  void check_lanes() const {
    const int lanes = schedule_.lanes, one = schedule_.register_lanes;
    require(one > 0 && cpu_.vector_bytes % one == 0, "a register does not divide into lanes");
    if (lanes == 1) return;
    require(lanes % one == 0 && (lanes & (lanes - 1)) == 0, "lanes do not fill registers");
    require(kernel_.vector_axis >= 0, "lanes without a vector axis");
    require(schedule_.lanes_are_outer == (kernel_.vector_axis < kernel_.outer),
            "lanes are not along the vector axis");
    for (const Stage& stage : kernel_.stages) {
      for (const Store& store : stage.stores) check_store_of_lanes(stage, store);
    }
  }

  void check_store_of_lanes(const Stage& stage, const Store& store) const {
    const Access& access = kernel_.accesses[store.access];
    if (!schedule_.lanes_are_outer && !stage.inner) return;
    const bool is_one_element =
        !access.dynamic && access.strides[at(kernel_.vector_axis)] == ir::Dim(0);
    require(!is_one_element, "lanes store to one element");
    require(schedule_.lanes_are_outer || !store.accumulate || !access.dynamic,
            "lanes add to one element");
  }

  void check_groups() const {
    StageId next(0);
    for (const StageGroup& group : schedule_.groups) {
      require(group.first == next && group.last > group.first,
              "groups are not all stages in order");
      next = group.last;
    }
    require(next == kernel_.stages.ids().last, "groups are not all stages in order");
    const SumParts& parts = schedule_.sum_parts;
    const bool is_inner =
        parts.axis >= kernel_.outer && parts.axis < static_cast<int>(kernel_.axes.size());
    require(parts.axis < 0 || (is_inner && parts.length > 0),
            "parts of sums are not of inner axes");
    require(
        parts.axis < 0 || parts.axis != kernel_.vector_axis || parts.length % schedule_.lanes == 0,
        "parts of sums divide vectors");
  }

  void check_row_blocks() const {
    const RowBlocks& blocks = schedule_.row_blocks;
    if (!blocks.any()) return;
    const int axis = kernel_.vector_axis, row_axis = axis - blocks.axes;
    require(row_axis >= 0 && axis == kernel_.outer - 1 &&
                kernel_.outer == static_cast<int>(kernel_.axes.size()) &&
                schedule_.lanes == schedule_.register_lanes && schedule_.tiles.axis < 0 &&
                !schedule_.streams.any(),
            "row blocks beside tiles, streams or inner axes");
    ir::Dim points = blocks.rows;
    for (int i = row_axis + 1; i <= axis; ++i) points = points * kernel_.axes[at(i)];
    require(points == ir::Dim(blocks.vectors * schedule_.lanes),
            "rows of a block do not fill its vectors");
    for (const AccessId i : kernel_.accesses.ids()) {
      require(!kernel_.accesses[i].when && schedule_.checked_rows[i] < 0,
              "row blocks with a guard or one index for several rows");
    }
    for (const Stage& stage : kernel_.stages) {
      for (const Store& store : stage.stores) {
        const Access& access = kernel_.accesses[store.access];
        ir::Dim stride = 1;
        for (int i = axis; i >= row_axis; --i) {
          require(!access.dynamic && access.strides[at(i)] == stride,
                  "a row block is stored with gaps");
          if (i > row_axis) stride = stride * kernel_.axes[at(i)];
        }
      }
    }
    for (const ShortForm form : schedule_.short_forms) {
      require(form != ShortForm::DivideByInvariant, "divisors of several rows are one");
    }
  }

  void check_tiles() const {
    const TileSchedule& tiles = schedule_.tiles;
    if (tiles.axis < 0) return;
    require(schedule_.lanes > 1 && tiles.axis < kernel_.vector_axis && schedule_.lanes_are_outer,
            "tiles without lanes inside");
    require(kernel_.outer == static_cast<int>(kernel_.axes.size()), "tiles with inner axes");
    require(tiles.rows > 0 && tiles.tiled.size() == kernel_.accesses.size(),
            "tiles without rows or accesses");
    for (const AccessId i : tiles.tiled.ids()) {
      require(!tiles.tiled[i] || is_across(kernel_, kernel_.accesses[i], tiles.axis),
              "a tiled access is not transposed");
    }
  }

  void check_streams() const {
    const StreamSchedule& streams = schedule_.streams;
    const OperandId scratch = streams.scratch_operand;
    if (!streams.any()) return require(!scratch && !streams.alone, "it streams nothing");
    require(streams.operands.size() == kernel_.operands.size() && schedule_.lanes > 1,
            "streamed operands without lanes");
    for (const OperandId i : streams.operands.ids()) {
      if (!streams.operands[i]) continue;
      const Operand& operand = kernel_.operands[i];
      const bool is_scratch = scratch == i;
      require(operand.written && (!operand.read || is_scratch),
              "it reads a streamed operand from memory");
    }
    if (!scratch) return;
    require(streams.operands[scratch] && kernel_.axes.back().is_static() &&
                kernel_.outer == static_cast<int>(kernel_.axes.size()) - 1,
            "a scratch row of unknown length");
    for (const Access& access : kernel_.accesses) {
      require(access.operand != scratch || (!access.dynamic && !access.when),
              "a scratch row with an index or a guard");
    }
  }

  void check_prefetches() const {
    for (const OperandId i : schedule_.prefetches.ids()) {
      const PrefetchSite& site = schedule_.prefetches[i];
      if (!site.access) continue;
      const Access& access = kernel_.accesses[site.access];
      require(access.operand == i && !access.dynamic && kernel_.outer > 0,
              "a prefetch of another operand, or without rows");
      require(access.strides[at(kernel_.vector_axis)].is_one(), "a prefetch of strided elements");
      const bool is_group =
          std::any_of(schedule_.groups.begin(), schedule_.groups.end(),
                      [&](const StageGroup& group) { return group.first == site.group; });
      require(site.group ? is_group : schedule_.lanes_are_outer, "a prefetch in no loop");
    }
    for (const GatherPrefetch& one : schedule_.gather_prefetches) {
      const Access& access = kernel_.accesses[one.access];
      require(access.dynamic && !access.when && one.axis < kernel_.outer &&
                  levels_.level(access.dynamic) == one.axis + 1,
              "a prefetch of rows whose index belongs to another loop");
      require(!one.recomputed.empty() && one.recomputed.back() == access.dynamic,
              "a prefetch of rows without their index");
      for (const ExpressionId i : one.recomputed) check_recomputed(kernel_.expressions[i]);
    }
  }

  void check_recomputed(const Expression& x) const {
    require(x.kind != ExpressionKind::StageResult, "a prefetch needs the result of a stage");
    if (x.kind != ExpressionKind::Load) return;
    const Access& access = kernel_.accesses[x.access];
    require(!access.dynamic && !access.when, "a prefetch reads memory that may not exist");
  }

  void check_checked_rows() const {
    for (const AccessId i : schedule_.checked_rows.ids()) {
      const int level = schedule_.checked_rows[i];
      if (level < 0) continue;
      const Access& access = kernel_.accesses[i];
      require(access.dynamic && !access.when && levels_.level(access.dynamic) == level,
              "a row is checked where its index is not known");
      require(std::all_of(
                  kernel_.axes.begin() + level, kernel_.axes.end(),
                  [](const ir::Dim& extent) { return extent.is_static() && extent.value() > 0; }),
              "a row is checked that may not be read");
    }
  }

  void check_forms() const {
    for (const ExpressionId i : schedule_.short_forms.ids()) {
      const ShortForm form = schedule_.short_forms[i];
      const ir::Op op = kernel_.expressions[i].op;
      require(form != ShortForm::ExpOfNonpositive || op == ir::Op::Exp, "it is no exp");
      require(form != ShortForm::DivideByInvariant || op == ir::Op::Div, "it is no division");
      require(form == ShortForm::None || cpu_.has_fma, "a short form without FMA");
    }
    for (const ShareDivision& one : schedule_.share_divisions) {
      require(schedule_.short_forms[one.expression] == ShortForm::DivideByInvariant,
              "it divides a share by a variable");
    }
    for (const StageId s : schedule_.minmax_forms.ids()) {
      const Stage& stage = kernel_.stages[s];
      require(schedule_.minmax_forms[s] == MinMaxForm::Propagating ||
                  (stage.kind == StageKind::Reduce &&
                   (stage.combiner == Combiner::Max || stage.combiner == Combiner::Min)),
              "a form of maxima of another stage");
    }
  }

  void require(bool holds, const char* what) const {
    if (holds) return;
    throw InternalError("compile", "",
                        text("the CPU schedule of kernel ", kernel_.name, ": ", what));
  }

  const Kernel& kernel_;
  const CpuSchedule& schedule_;
  const CpuDescription& cpu_;
  const KernelLevels levels_;
};

}  // namespace

void verify(const Kernel& kernel, const CpuSchedule& schedule, const CpuDescription& cpu) {
  Verifier(kernel, schedule, cpu).run();
}

}  // namespace kiln::cpu
