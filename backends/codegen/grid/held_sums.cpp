// Additions to an element keep their order, so results have the bits of sums in memory.
#include "backends/codegen/grid/held_sums.h"

#include <algorithm>

namespace kiln::codegen {
namespace {

bool is_same_in_team(const Kernel& kernel, const std::vector<int>& axes, const Access& access) {
  for (int axis = 0; axis < kernel.outer; ++axis) {
    if (std::ranges::find(axes, axis) != axes.end()) continue;
    if (access.strides[static_cast<std::size_t>(axis)] != ir::Dim(0)) return false;
  }
  return true;
}

bool is_read(const Kernel& kernel, OperandId operand) {
  return std::ranges::any_of(kernel.expressions, [&](const Expression& e) {
    return e.kind == ExpressionKind::Load && kernel.accesses[e.access].operand == operand;
  });
}

}  // namespace

std::optional<ColumnSum> held_sum(const Kernel& kernel, const std::vector<int>& axes,
                                  OperandId operand) {
  const bool is_in_order = static_cast<int>(axes.size()) < kernel.outer;
  const bool is_narrow = dtype_bytes(kernel.operands[operand].dtype) < 4;
  if (!is_in_order || is_narrow || is_read(kernel, operand)) return std::nullopt;
  std::optional<ColumnSum> found;
  for (const StageId s : kernel.stages.ids()) {
    const Stage& stage = kernel.stages[s];
    for (std::size_t i = 0; i < stage.stores.size(); ++i) {
      const Access& access = kernel.accesses[stage.stores[i].access];
      if (access.operand != operand) continue;
      const bool is_sum = stage.inner && stage.kind != StageKind::Running &&
                          stage.stores[i].accumulate && !access.dynamic && !access.when;
      if (found || !is_sum || !is_same_in_team(kernel, axes, access)) return std::nullopt;
      found = ColumnSum{s, i};
    }
  }
  return found;
}

std::vector<OperandId> choose_held_sums(const Kernel& kernel, const std::vector<int>& axes,
                                        std::int64_t points, std::int64_t registers) {
  std::vector<OperandId> held;
  for (const OperandId operand : kernel.operands.ids()) {
    if (!held_sum(kernel, axes, operand)) continue;
    const std::int64_t needed = points * (dtype_bytes(kernel.operands[operand].dtype) > 4 ? 2 : 1);
    if (needed > registers) continue;
    registers -= needed;
    held.push_back(operand);
  }
  return held;
}

}  // namespace kiln::codegen
