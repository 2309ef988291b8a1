// Recognises exp, divisions, maxima and minima whose operand ranges allow fewer instructions, and
// sums that are long.
#include "backends/codegen/kernel/signs.h"
#include "backends/codegen/kernel/unpropagated_nan.h"
#include "backends/cpu/schedule/decisions.h"
#include "core/types/at.h"

#include <algorithm>

namespace kiln::cpu {
namespace {

using namespace codegen;

/// Whether a float is divided by a loop-invariant divisor, in lanes.
bool divides_by_loop_invariant(const ScheduleInput& in, const CpuSchedule& schedule,
                               const Expression& x) {
  if (x.op != ir::Op::Div || !in.cpu.has_fma || schedule.lanes == 1) return false;
  if (x.dtype != DType::Float32 && x.dtype != DType::Float64) return false;
  if (schedule.row_blocks.any()) return false;  // lanes have divisors of several rows
  const int level = in.levels.level(x.arguments[0]);
  return in.levels.level(x.arguments[1]) < level && level > in.kernel.vector_axis;
}

/// Whether the expression is an ExpOfNonpositive, or one that an earlier stage than `group` stored
/// at this point.
bool is_share(const Kernel& kernel, const CpuSchedule& schedule, StageId group,
              ExpressionId expression) {
  const auto is_exp = [&](ExpressionId i) {
    return schedule.short_forms[i] == ShortForm::ExpOfNonpositive;
  };
  const Expression& x = kernel.expressions[expression];
  if (x.kind == ExpressionKind::Apply) return is_exp(expression);
  if (x.kind != ExpressionKind::Load) return false;
  const Access& access = kernel.accesses[x.access];
  if (access.dynamic || access.when) return false;
  // The last earlier stage that writes the operand determines the element that is loaded.
  for (StageId s = group; --s;) {
    for (const Store& store : kernel.stages[s].stores) {
      if (kernel.accesses[store.access].operand != access.operand) continue;
      return kernel.stages[s].stores.size() == 1 && store.access == x.access && !store.accumulate &&
             is_exp(store.value);
    }
  }
  return false;
}

/// Whether x divides a share by a sum of shares: exp(x - m) / sum of exp(x - m).
bool divides_share(const Kernel& kernel, const CpuSchedule& schedule, StageId group,
                   const Expression& x) {
  const Expression& sum = kernel.expressions[x.arguments[1]];
  return sum.kind == ExpressionKind::StageResult &&
         is_share(kernel, schedule, group, x.arguments[0]) &&
         sums_shares(kernel, kernel.stages[sum.stage]);
}

MinMaxForm minmax_form(const ScheduleInput& in, const CpuSchedule& schedule, const Stage& stage,
                       bool drops_nan) {
  if (drops_nan) return MinMaxForm::DropsNan;
  if (stage.kind != StageKind::Reduce) return MinMaxForm::Propagating;
  if (stage.combiner != Combiner::Max && stage.combiner != Combiner::Min) {
    return MinMaxForm::Propagating;
  }
  // With masks, a maximum that propagates takes three instructions.
  const bool keeps_signs = is_float(in.kernel.expressions[stage.value].dtype) &&
                           schedule.lanes > 1 && !schedule.lanes_are_outer && !in.cpu.has_masks;
  return keeps_signs ? MinMaxForm::KeepsSigns : MinMaxForm::Propagating;
}

void choose_share_divisions(const ScheduleInput& in, CpuSchedule& schedule) {
  const IdVector<ExpressionId, ShortForm>& forms = schedule.short_forms;
  const auto none = forms.end();
  if (std::find(forms.begin(), none, ShortForm::DivideByInvariant) == none) return;
  for (const StageGroup group : in.groups) {
    for (const ExpressionId i : in.levels.needed_by(group)) {
      if (forms[i] != ShortForm::DivideByInvariant) continue;
      if (!divides_share(in.kernel, schedule, group.first, in.kernel.expressions[i])) continue;
      schedule.share_divisions.push_back({.group = group.first, .expression = i});
    }
  }
}

}  // namespace

bool CpuSchedule::divides_share(StageId group, ExpressionId expression) const {
  const ShareDivision wanted{.group = group, .expression = expression};
  return std::find(share_divisions.begin(), share_divisions.end(), wanted) != share_divisions.end();
}

bool is_long_sum(const Kernel& kernel, const Stage& stage) {
  return stage.kind == StageKind::Reduce && stage.combiner == Combiner::Sum &&
         kernel.expressions[stage.value].dtype == DType::Float32;
}

SumParts choose_sum_parts(const ScheduleInput& in, int lanes) {
  const Kernel& kernel = in.kernel;
  const bool has_sums = std::any_of(kernel.stages.begin(), kernel.stages.end(),
                                    [&](const Stage& stage) { return is_long_sum(kernel, stage); });
  if (!has_sums) return {};
  std::int64_t within = 1;  // additions of the axes inside `axis`
  for (int axis = static_cast<int>(kernel.axes.size()) - 1; axis >= kernel.outer; --axis) {
    const std::int64_t step = axis == kernel.vector_axis ? lanes : 1;
    const ir::Dim& extent = kernel.axes[at(axis)];
    const std::int64_t length = std::max<std::int64_t>(1, in.cpu.tuning.sum_part / within);
    const bool is_long = !extent.is_static() || extent.value() / step > 2 * length;
    if (is_long) return {.axis = axis, .length = length * step};
    within *= std::max<std::int64_t>(1, extent.value() / step);
  }
  return {};
}

void choose_forms(const ScheduleInput& in, CpuSchedule& schedule) {
  const ExpressionFlags nonpositive = never_positive(in.kernel);
  for (const Expression& x : in.kernel.expressions) {
    ShortForm form = ShortForm::None;
    if (x.kind == ExpressionKind::Apply && divides_by_loop_invariant(in, schedule, x)) {
      form = ShortForm::DivideByInvariant;
    } else if (x.kind == ExpressionKind::Apply && x.op == ir::Op::Exp && in.cpu.has_fma &&
               nonpositive[x.arguments[0]]) {
      form = ShortForm::ExpOfNonpositive;
    }
    schedule.short_forms.push_back(form);
  }
  choose_share_divisions(in, schedule);
  const IdVector<StageId, bool> drops_nan = need_not_propagate_nan(in.kernel);
  for (const StageId s : in.kernel.stages.ids()) {
    schedule.minmax_forms.push_back(minmax_form(in, schedule, in.kernel.stages[s], drops_nan[s]));
  }
}

}  // namespace kiln::cpu
