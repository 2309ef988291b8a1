// Computes loop levels from the axes that accesses and arguments vary along.
#include "backends/cpu/schedule/kernel_levels.h"

#include "backends/codegen/kernel/needed.h"
#include "core/types/at.h"

#include <algorithm>

namespace kiln::cpu {
namespace {

using namespace codegen;

}  // namespace

KernelLevels::KernelLevels(const Kernel& kernel) : kernel_(kernel) {
  for (const Expression& x : kernel.expressions) level_.push_back(level_of(x));
  std::vector<ExpressionId> roots;
  for (const Stage& stage : kernel.stages) add_roots(stage, roots);
  everywhere_ = needed(roots);
}

int KernelLevels::level_of(const Expression& x) const {
  if (x.kind == ExpressionKind::AxisIndex) return x.number + 1;
  if (x.kind == ExpressionKind::StageResult) {
    const bool running = kernel_.stages[x.stage].kind == StageKind::Running;
    return running ? static_cast<int>(kernel_.axes.size()) : kernel_.outer;
  }
  int level = x.kind == ExpressionKind::Load ? level_of(kernel_.accesses[x.access]) : 0;
  visit_arguments(kernel_, x, [&](ExpressionId one) { level = std::max(level, level_[one]); });
  return level;
}

int KernelLevels::level_of(const Access& access) const {
  int level = 0;
  for (std::size_t axis = 0; axis < access.strides.size(); ++axis) {
    if (access.strides[axis] != ir::Dim(0)) level = static_cast<int>(axis) + 1;
  }
  return level;
}

bool KernelLevels::varies_along(const Access& access) const {
  return kernel_.vector_axis >= 0 && access.strides[at(kernel_.vector_axis)] != ir::Dim(0);
}

bool KernelLevels::is_narrow(ExpressionId expression) const {
  return largest(expression).has_value();
}

std::optional<std::uint64_t> KernelLevels::largest(ExpressionId expression) const {
  const Expression& x = kernel_.expressions[expression];
  const auto narrow = [](std::uint64_t value) {
    return value >> 32 == 0 ? std::optional(value) : std::nullopt;
  };
  if (x.dtype != DType::Int64) return std::nullopt;
  if (x.kind == ExpressionKind::Constant) return narrow(x.bits);
  if (x.kind == ExpressionKind::AxisIndex) {
    const ir::Dim& extent = kernel_.axes[at(x.number)];
    if (!extent.is_static()) return std::nullopt;
    return narrow(static_cast<std::uint64_t>(std::max<std::int64_t>(extent.value(), 1) - 1));
  }
  if (x.kind != ExpressionKind::Apply) return std::nullopt;
  if (x.op != ir::Op::Add && x.op != ir::Op::Mul) return std::nullopt;
  const auto first = largest(x.arguments[0]), second = largest(x.arguments[1]);
  if (!first || !second) return std::nullopt;
  return narrow(x.op == ir::Op::Add ? *first + *second : *first * *second);
}

std::vector<ExpressionId> KernelLevels::needed(const std::vector<ExpressionId>& roots) const {
  const ExpressionFlags wanted = codegen::needed(kernel_, roots);
  std::vector<ExpressionId> list;
  for (const ExpressionId i : wanted.ids()) {
    if (wanted[i]) list.push_back(i);
  }
  return list;
}

void KernelLevels::add_roots(const Stage& stage, std::vector<ExpressionId>& roots) const {
  for (const ExpressionId root : roots_of(kernel_, stage)) roots.push_back(root);
}

std::vector<ExpressionId> KernelLevels::needed_by(StageGroup group) const {
  std::vector<ExpressionId> roots;
  for (const StageId s : group) add_roots(kernel_.stages[s], roots);
  return needed(roots);
}

std::vector<StageGroup> KernelLevels::groups() const {
  std::vector<StageGroup> list;
  for (const StageId s : kernel_.stages.ids()) {
    if (list.empty() || !fits(list.back())) list.push_back({s, s});
    ++list.back().last;
  }
  return list;
}

bool KernelLevels::fits(StageGroup group) const {
  const auto plain = [](const Stage& stage) {
    return stage.inner && stage.kind != StageKind::Running && stage.combiner != Combiner::ArgMax;
  };
  if (!plain(kernel_.stages[group.first]) || !plain(kernel_.stages[group.last])) return false;
  const std::vector<ExpressionId> list = needed_by({group.last, group.last.next()});
  const bool waits = std::any_of(list.begin(), list.end(), [&](ExpressionId i) {
    const Expression& x = kernel_.expressions[i];
    return x.kind == ExpressionKind::StageResult && x.stage >= group.first;
  });
  return !waits && !accesses_written(group, list);
}

bool KernelLevels::accesses_written(StageGroup group,
                                    const std::vector<ExpressionId>& needed) const {
  IdVector<OperandId, bool> written(kernel_.operands.size(), false);
  for (const StageId s : group) {
    for (const Store& store : kernel_.stages[s].stores) {
      written[kernel_.accesses[store.access].operand] = true;
    }
  }
  const auto is_written = [&](AccessId access) {
    return written[kernel_.accesses[access].operand];
  };
  const std::vector<Store>& stores = kernel_.stages[group.last].stores;
  return std::any_of(needed.begin(), needed.end(),
                     [&](ExpressionId i) {
                       const Expression& x = kernel_.expressions[i];
                       return x.kind == ExpressionKind::Load && is_written(x.access);
                     }) ||
         std::any_of(stores.begin(), stores.end(),
                     [&](const Store& store) { return is_written(store.access); });
}

}  // namespace kiln::cpu
