// Finds rows that a kernel stores, loads and stores again. Only their final stores can be streamed;
// without a scratch row, the first store would load each line of the result from memory.
#include "backends/cpu/schedule/decisions.h"
#include "core/types/at.h"

#include <algorithm>

namespace kiln::cpu {
namespace {

using namespace codegen;

/// Whether rows of the operand are contiguous, each point has an element of its own, and all
/// accesses of a point are to that element.
bool has_one_element_per_point(const Kernel& kernel, OperandId operand) {
  const Access* first = nullptr;
  for (const Access& access : kernel.accesses) {
    if (access.operand != operand) continue;
    if (!first) first = &access;
    if (access.dynamic || access.when) return false;
    if (!(access.offset == first->offset) || access.strides != first->strides) return false;
  }
  if (!first || !first->strides[at(kernel.vector_axis)].is_one()) return false;
  for (int axis = 0; axis < kernel.outer; ++axis) {
    const bool is_repeated = first->strides[at(axis)] == ir::Dim(0);
    if (is_repeated && !kernel.axes[at(axis)].is_one()) return false;
  }
  return true;
}

/// Whether two groups store the operand, the second of them is the last one, and only groups after
/// the first one load it.
bool can_use_scratch(const ScheduleInput& in, OperandId operand) {
  const Kernel& kernel = in.kernel;
  const Operand& candidate = kernel.operands[operand];
  if (!candidate.read || !candidate.written) return false;
  if (!has_one_element_per_point(kernel, operand)) return false;
  std::vector<std::size_t> loading, storing;  // groups
  for (std::size_t i = 0; i < in.groups.size(); ++i) {
    for (const ExpressionId x : in.levels.needed_by(in.groups[i])) {
      const Expression& load = kernel.expressions[x];
      if (load.kind != ExpressionKind::Load) continue;
      if (kernel.accesses[load.access].operand == operand) loading.push_back(i);
    }
    for (const StageId s : in.groups[i]) {
      for (const Store& one : kernel.stages[s].stores) {
        if (kernel.accesses[one.access].operand != operand) continue;
        if (one.accumulate || !kernel.stages[s].inner) return false;
        storing.push_back(i);
      }
    }
  }
  return storing.size() == 2 && storing[0] < storing[1] && storing[1] == in.groups.size() - 1 &&
         std::all_of(loading.begin(), loading.end(), [&](std::size_t i) { return i > storing[0]; });
}

}  // namespace

OperandId scratch_candidate(const ScheduleInput& in, int lanes, const TileSchedule& tiles) {
  const Kernel& kernel = in.kernel;
  const CpuTuning& tuning = in.cpu.tuning;
  const int inner = static_cast<int>(kernel.axes.size()) - 1;
  if (inner != kernel.outer || kernel.vector_axis != inner || inner == 0) return {};
  const ir::Dim& extent = kernel.axes[at(inner)];
  if (!extent.is_static() || extent.value() < tuning.min_scratch_elements) return {};
  if (tiles.axis >= 0 || !is_map(kernel, in.groups.back())) return {};
  const std::int64_t max_bytes = tuning.l1_bytes / tuning.l1_share_of_scratch;
  for (const OperandId i : kernel.operands.ids()) {
    const auto element = static_cast<std::int64_t>(dtype_bytes(kernel.operands[i].dtype));
    const bool fits = extent.value() <= max_bytes / element && lanes >= tuning.line_bytes / element;
    if (fits && can_use_scratch(in, i)) return i;
  }
  return {};
}

}  // namespace kiln::cpu
