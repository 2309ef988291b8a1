// Prunes expressions, then the accesses of the remaining ones, then their operands.
#include "backends/codegen/kernel/split/prune_kernel.h"

#include "backends/codegen/kernel/needed.h"

namespace kiln::codegen {
namespace {

/// Erases the unused elements of a list and maps old ids to new ones (none: erased).
template <class Key>
class Renumbering {
 public:
  template <class T>
  Renumbering(const IdVector<Key, bool>& used, IdVector<Key, T>& list) : ids_(used.size()) {
    IdVector<Key, T> kept;
    for (const Key i : list.ids()) {
      if (used[i]) ids_[i] = kept.add(std::move(list[i]));
    }
    list = std::move(kept);
  }

  void operator()(Key& id) const {
    if (id) id = ids_[id];
  }

 private:
  IdVector<Key, Key> ids_;
};

template <class Key, class T>
void erase_unused(const IdVector<Key, bool>& used, IdVector<Key, T>& list) {
  static_cast<void>(Renumbering(used, list));
}

void prune_expressions(Kernel& kernel) {
  std::vector<ExpressionId> roots;
  for (const Stage& stage : kernel.stages) {
    for (const ExpressionId root : roots_of(kernel, stage)) roots.push_back(root);
  }
  const Renumbering renumber(needed(kernel, roots), kernel.expressions);
  for (Expression& e : kernel.expressions) {
    for (ExpressionId& argument : e.arguments) renumber(argument);
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
  IdVector<AccessId, bool> used(kernel.accesses.size(), false);
  for (const Expression& e : kernel.expressions) {
    if (e.kind == ExpressionKind::Load) used[e.access] = true;
  }
  for (const Stage& stage : kernel.stages) {
    for (const Store& store : stage.stores) used[store.access] = true;
  }
  erase_unused(used, built.access_nodes);
  const Renumbering renumber(used, kernel.accesses);
  for (Expression& e : kernel.expressions) {
    if (e.kind == ExpressionKind::Load) renumber(e.access);
  }
  for (Stage& stage : kernel.stages) {
    for (Store& store : stage.stores) renumber(store.access);
  }
}

void prune_operands(BuiltKernel& built) {
  Kernel& kernel = built.kernel;
  for (Operand& operand : kernel.operands) operand.read = operand.written = false;
  const auto operand_of = [&](AccessId access) -> Operand& {
    return kernel.operands[kernel.accesses[access].operand];
  };
  for (const Expression& e : kernel.expressions) {
    if (e.kind == ExpressionKind::Load) operand_of(e.access).read = true;
  }
  for (const Stage& stage : kernel.stages) {
    for (const Store& store : stage.stores) {
      operand_of(store.access).written = true;
      if (store.accumulate) operand_of(store.access).read = true;
    }
  }
  IdVector<OperandId, bool> used;
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
