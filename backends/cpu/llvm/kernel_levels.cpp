// Levels follow from axes; what is needed follows from what is stored and combined.
#include "backends/cpu/llvm/kernel_levels.h"

#include <algorithm>

namespace kiln::cpu {
namespace {

using namespace codegen;

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

}  // namespace

KernelLevels::KernelLevels(const Kernel& kernel) : kernel_(kernel) {
  for (const Expression& x : kernel.expressions) level_.push_back(level_of(x));
  std::vector<int> roots;
  for (const Stage& stage : kernel.stages) add_roots(stage, roots);
  everywhere_ = needed(roots);
}

int KernelLevels::level_of(const Expression& x) const {
  int level = 0;
  for (const int argument : x.arguments) {
    if (argument >= 0) level = std::max(level, level_[at(argument)]);
  }
  if (x.kind == ExpressionKind::AxisIndex) return x.number + 1;
  if (x.kind == ExpressionKind::StageResult) {
    const bool running = kernel_.stages[at(x.number)].kind == StageKind::Running;
    return running ? static_cast<int>(kernel_.axes.size()) : kernel_.outer;
  }
  if (x.kind != ExpressionKind::Load) return level;
  const Access& access = kernel_.accesses[at(x.number)];
  if (access.dynamic >= 0) level = std::max(level, level_[at(access.dynamic)]);
  return std::max(level, level_of(access));
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

std::vector<int> KernelLevels::needed(const std::vector<int>& roots) const {
  std::vector<bool> wanted(kernel_.expressions.size(), false);
  for (const int root : roots) {
    if (root >= 0) wanted[at(root)] = true;
  }
  std::vector<int> list;
  for (std::size_t i = wanted.size(); i-- > 0;) {
    if (!wanted[i]) continue;
    list.push_back(static_cast<int>(i));
    const Expression& x = kernel_.expressions[i];
    for (const int argument : x.arguments) {
      if (argument >= 0) wanted[at(argument)] = true;
    }
    if (x.kind != ExpressionKind::Load) continue;
    const int dynamic = kernel_.accesses[at(x.number)].dynamic;
    if (dynamic >= 0) wanted[at(dynamic)] = true;
  }
  std::reverse(list.begin(), list.end());
  return list;
}

void KernelLevels::add_roots(const Stage& stage, std::vector<int>& roots) const {
  roots.push_back(stage.value);
  for (const Store& store : stage.stores) {
    roots.push_back(store.value);
    roots.push_back(kernel_.accesses[at(store.access)].dynamic);
  }
}

std::vector<int> KernelLevels::needed_by(const Stage& stage) const {
  std::vector<int> roots;
  add_roots(stage, roots);
  return needed(roots);
}

}  // namespace kiln::cpu
