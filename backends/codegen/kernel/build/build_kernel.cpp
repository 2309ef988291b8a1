// Emits the stages of a kernel level by level; the level of a member is the number
// of reductions of its group that precede it. Each level has stores of work on
// reduced values, then reductions, then stores of work at every point; running
// stages (scans) come last. Expressions are built on demand (kernel_expressions.h).
#include "backends/codegen/kernel/build/build_kernel.h"

#include "backends/codegen/inspect/source.h"
#include "backends/codegen/kernel/build/kernel_expressions.h"

#include <algorithm>

namespace kiln::codegen {
namespace {

using ir::Dim;
using ir::Node;
using ir::Value;

class KernelBuilder {
 public:
  KernelBuilder(const KernelGroup& group, const FusionPlan& fusion_plan, const SizeNames& names)
      : group_(group),
        fusion_plan_(fusion_plan),
        names_(names),
        expressions_(group, fusion_plan, names) {}

  BuiltKernel run(int number) {
    int levels = 0;
    for (const Member& member : group_.members) levels = std::max(levels, member.level + 1);
    for (int level = 0; level <= levels; ++level) {
      add_outer_stores(level);
      add_reductions(level);
      add_full_stores(level);
    }
    add_running();
    expressions_.out.nodes = nodes();
    KernelTitle title = kernel_title(expressions_.out.nodes, number);
    kernel().name = std::move(title.name);
    kernel().comes_from = std::move(title.comes_from);
    for (const Dim& dim : kernel().axes) add_size(kernel(), dim);
    return std::move(expressions_.out);
  }

 private:
  Kernel& kernel() { return expressions_.kernel(); }

  // ---- stages ----

  /// The store of a member's value to its own tensor.
  Store store_of(const Member& member) {
    const Value result = member.node->result();
    Store store;
    store.value = expressions_.stored_bits(expressions_.member_value(member));
    Access access = expressions_.store_access(store.value, result, expressions_.own_map(member));
    access.when = expressions_.own_guard(member);
    store.access = expressions_.add_access(access);
    return store;
  }

  void add_map(bool inner, std::vector<Store> stores) {
    if (stores.empty()) return;
    Stage stage;
    stage.kind = StageKind::Map;
    stage.inner = inner;
    stage.stores = std::move(stores);
    kernel().stages.push_back(std::move(stage));
  }

  bool is_stored(const Member& member) const {
    return fusion_plan_.stored.count(member.node->result()) != 0;
  }

  /// Stores of the results of reductions of the level below, and of work on them.
  void add_outer_stores(int level) {
    std::vector<Store> stores;
    for (const Member& member : group_.members) {
      const bool reduced = member.role == Role::Reduce && member.level + 1 == level;
      const bool outer = member.role == Role::Outer && member.level == level;
      if ((reduced || outer) && is_stored(member)) stores.push_back(store_of(member));
    }
    add_map(/*inner=*/false, std::move(stores));
  }

  void add_reductions(int level) {
    for (const Member& member : group_.members) {
      if (member.role != Role::Reduce || member.level != level) continue;
      Stage stage;
      stage.kind = StageKind::Reduce;
      stage.combiner = def(*member.node).combiner;
      stage.value = expressions_.point_value(member);
      if (stage.combiner == Combiner::ArgMax) {
        expressions_.out.nonempty.emplace_back(kernel().axes.back(), member.node);
      }
      expressions_.set_stage(member, kernel().stages.add(stage));
    }
  }

  void add_full_stores(int level) {
    std::vector<Store> stores;
    for (const Member& member : group_.members) {
      if (member.role != Role::Full || member.level != level || !is_stored(member)) continue;
      stores.push_back(store_of(member));
    }
    for (const PartialWrite& placement : group_.partial_writes) {
      if (level_of(placement) == level) stores.push_back(partial_write(placement));
    }
    add_map(expressions_.has_inner(), std::move(stores));
  }

  int level_of(const PartialWrite& placement) const {
    const View view = trace(placement.value, placement.from, names_, fusion_plan_);
    const Member* member = expressions_.member_of(*view.source.node);
    return member == nullptr ? 0 : member->level;
  }

  Store partial_write(const PartialWrite& placement) {
    Store store;
    store.value = expressions_.expression(placement.value, placement.from);
    if (!placement.adds) store.value = expressions_.stored_bits(store.value);
    Access access = expressions_.store_access(store.value, placement.target, placement.to);
    if (placement.indices) {
      const ExpressionId index = expressions_.expression(placement.indices, placement.indices_from);
      expressions_.make_dynamic(access, index, names_(placement.target.dims()),
                                placement.dynamic_axis);
    }
    store.accumulate = placement.adds;
    if (placement.adds) kernel().operands[access.operand].read = true;
    const Node* scatter = placement.indices ? placement.target.node.get() : nullptr;
    store.access = expressions_.add_access(access, scatter);
    return store;
  }

  void add_running() {
    for (const Member& member : group_.members) {
      if (member.role != Role::Running) continue;
      Stage stage;
      stage.kind = StageKind::Running;
      stage.combiner = def(*member.node).combiner;
      stage.value = expressions_.point_value(member);
      expressions_.set_stage(member, kernel().stages.add(std::move(stage)));
      kernel().stages.back().stores.push_back(store_of(member));
    }
  }

  /// The nodes that the kernel computes, for its name.
  std::vector<const Node*> nodes() const {
    std::vector<const Node*> list;
    for (const Member& member : group_.members) list.push_back(member.node);
    for (const PartialWrite& placement : group_.partial_writes) {
      list.push_back(placement.target.node.get());
    }
    return list;
  }

  const KernelGroup& group_;
  const FusionPlan& fusion_plan_;
  const SizeNames& names_;
  KernelExpressions expressions_;
};

}  // namespace

BuiltKernel build_kernel(const KernelGroup& group, const FusionPlan& fusion_plan,
                         const SizeNames& names, int number) {
  return KernelBuilder(group, fusion_plan, names).run(number);
}

KernelsOfGroups build_kernels(const FusionPlan& fusion_plan, const SizeNames& names,
                              BuiltKernels& kernels) {
  KernelsOfGroups numbers;
  for (const FusionGroup& group : fusion_plan.groups) {
    numbers.emplace_back();
    const auto* kernel = std::get_if<KernelGroup>(&group);
    if (!kernel) continue;
    const int number = static_cast<int>(kernels.size());
    BuiltKernel built = build_kernel(*kernel, fusion_plan, names, number);
    if (!built.kernel.stages.empty()) numbers.back().push_back(kernels.add(std::move(built)));
  }
  return numbers;
}

}  // namespace kiln::codegen
