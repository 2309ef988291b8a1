// Prunes expressions, then the accesses of the remaining ones, then their operands.
#include "backends/codegen/kernel/split/prune_kernel.h"

#include "backends/codegen/kernel/needed.h"
#include "core/types/at.h"

namespace kiln::codegen {
namespace {

/// Erases the unused elements of a list and maps old indices to new ones (-1: erased).
class Renumbering {
 public:
  template <class T>
  Renumbering(const std::vector<bool>& used, std::vector<T>& list) {
    std::vector<T> kept;
    for (std::size_t i = 0; i < list.size(); ++i) {
      numbers_.push_back(used[i] ? static_cast<int>(kept.size()) : -1);
      if (used[i]) kept.push_back(std::move(list[i]));
    }
    list = std::move(kept);
  }

  void operator()(int& number) const {
    if (number >= 0) number = numbers_[at(number)];
  }

 private:
  std::vector<int> numbers_;
};

template <class T>
void erase_unused(const std::vector<bool>& used, std::vector<T>& list) {
  static_cast<void>(Renumbering(used, list));
}

void prune_expressions(Kernel& kernel) {
  std::vector<int> roots;
  for (const Stage& stage : kernel.stages) {
    for (const int root : roots_of(kernel, stage)) roots.push_back(root);
  }
  const Renumbering renumber(needed(kernel, roots), kernel.expressions);
  for (Expression& e : kernel.expressions) {
    for (int& argument : e.arguments) renumber(argument);
  }
  for (Access& access : kernel.accesses) {
    renumber(access.dynamic);
    renumber(access.when);
  }
  for (Stage& stage : kernel.stages) {
    renumber(stage.value);
    for (Store& store : stage.stores) renumber(store.value);
  }
}

void prune_accesses(BuiltKernel& built) {
  Kernel& kernel = built.kernel;
  std::vector<bool> used(kernel.accesses.size(), false);
  for (const Expression& e : kernel.expressions) {
    if (e.kind == ExpressionKind::Load) used[at(e.number)] = true;
  }
  for (const Stage& stage : kernel.stages) {
    for (const Store& store : stage.stores) used[at(store.access)] = true;
  }
  erase_unused(used, built.access_nodes);
  const Renumbering renumber(used, kernel.accesses);
  for (Expression& e : kernel.expressions) {
    if (e.kind == ExpressionKind::Load) renumber(e.number);
  }
  for (Stage& stage : kernel.stages) {
    for (Store& store : stage.stores) renumber(store.access);
  }
}

void prune_operands(BuiltKernel& built) {
  Kernel& kernel = built.kernel;
  for (Operand& operand : kernel.operands) operand.read = operand.written = false;
  const auto operand_of = [&](int access) -> Operand& {
    return kernel.operands[at(kernel.accesses[at(access)].operand)];
  };
  for (const Expression& e : kernel.expressions) {
    if (e.kind == ExpressionKind::Load) operand_of(e.number).read = true;
  }
  for (const Stage& stage : kernel.stages) {
    for (const Store& store : stage.stores) {
      operand_of(store.access).written = true;
      if (store.accumulate) operand_of(store.access).read = true;
    }
  }
  std::vector<bool> used;
  for (const Operand& operand : kernel.operands) used.push_back(operand.read || operand.written);
  erase_unused(used, built.operands);
  const Renumbering renumber(used, kernel.operands);
  for (Access& access : kernel.accesses) renumber(access.operand);
}

}  // namespace

void prune(BuiltKernel& built) {
  prune_expressions(built.kernel);
  prune_accesses(built);
  prune_operands(built);
}

}  // namespace kiln::codegen
