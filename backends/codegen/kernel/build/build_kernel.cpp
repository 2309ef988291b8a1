// The stages of a kernel, in order of how many reductions lie before what they write. Expressions
// are made on demand from that (kernel_expressions.h).
#include "backends/codegen/kernel/build/build_kernel.h"

#include "backends/codegen/fusion/column_sums.h"
#include "backends/codegen/inspect/source.h"
#include "backends/codegen/kernel/build/kernel_expressions.h"
#include "backends/codegen/kernel/build/split_blocks.h"

#include <algorithm>

namespace kiln::codegen {
namespace {

using ir::Dim;
using ir::Node;
using ir::Value;

class KernelBuilder {
 public:
  KernelBuilder(const Unit& unit, const Units& units, const SizeNames& names)
      : unit_(unit), units_(units), names_(names), expressions_(unit, units, names) {}

  BuiltKernel run(int number) {
    int levels = 0;
    for (const Member& member : unit_.members) levels = std::max(levels, member.level + 1);
    for (int level = 0; level <= levels; ++level) {
      add_outer_stores(level);
      add_reductions(level);
      add_full_stores(level);
    }
    add_running();
    KernelTitle title = kernel_title(nodes(), number);
    kernel().name = std::move(title.name);
    kernel().comes_from = std::move(title.comes_from);
    for (const Dim& dim : kernel().axes) add_size(kernel(), dim);
    order_outer_axes(kernel());
    choose_vector_axis();
    if (!in_blocks_.empty()) split_blocks(kernel(), unit_.block, in_blocks_);
    reuse_stored(kernel());
    collapse_axes(kernel());
    return std::move(expressions_.out);
  }

 private:
  Kernel& kernel() { return expressions_.kernel(); }

  /// A sum over the windows that cover an element: short, and in order.
  bool sums_windows() {
    const bool folds = std::any_of(unit_.members.begin(), unit_.members.end(), [](const Member& m) {
      return m.node->op == ir::Op::Fold && m.role == Role::Reduce;
    });
    return folds && kernel().outer > 0;
  }

  /// Lanes go along the last axis of the tensors; where steps follow each other along it, or where
  /// it is a window's, along the last outer one.
  void choose_vector_axis() {
    if (unit_.domain.empty()) return;
    const bool last_is_inner =
        unit_.reduced.back() && !sums_windows() && !lanes_belong_outside(kernel());
    const bool in_order = std::any_of(
        kernel().stages.begin(), kernel().stages.end(), [this](const Stage& stage) {
          const bool adds = std::any_of(
              stage.stores.begin(), stage.stores.end(), [this](const Store& store) {
                return store.accumulate &&
                       kernel().accesses[static_cast<std::size_t>(store.access)].dynamic >= 0;
              });
          return stage.kind == StageKind::Running || adds;
        });
    const int last = static_cast<int>(kernel().axes.size()) - 1;
    kernel().vector_axis = last_is_inner && !in_order ? last : kernel().outer - 1;
  }

  // ---- stages ----

  int next_stage() { return static_cast<int>(kernel().stages.size()); }

  /// The value of a member where its elements lie.
  Store store_of(const Member& member) {
    const Value result = member.node->result();
    Store store;
    store.value = expressions_.member_value(member);
    Access made =
        expressions_.access(result, expressions_.own_map(member), /*written=*/true);
    made.when = expressions_.own_guard(member);
    store.access = expressions_.add_access(made);
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
    return units_.stored.count(member.node->result()) != 0;
  }

  /// Results of reductions of the level below, and work on them.
  void add_outer_stores(int level) {
    std::vector<Store> stores;
    for (const Member& member : unit_.members) {
      const bool reduced = member.role == Role::Reduce && member.level + 1 == level;
      const bool outer = member.role == Role::Outer && member.level == level;
      if ((reduced || outer) && is_stored(member)) stores.push_back(store_of(member));
    }
    add_map(/*inner=*/false, std::move(stores));
  }

  void add_reductions(int level) {
    for (const Member& member : unit_.members) {
      if (member.role != Role::Reduce || member.level != level) continue;
      Stage stage;
      stage.kind = StageKind::Reduce;
      stage.combiner = def(*member.node).combiner;
      stage.value = expressions_.point_value(member);
      if (stage.combiner == Combiner::ArgMax) {
        expressions_.out.nonempty.emplace_back(kernel().axes.back(), member.node);
      }
      expressions_.set_stage(member, next_stage());
      kernel().stages.push_back(stage);
    }
  }

  void add_full_stores(int level) {
    std::vector<Store> stores;
    for (const Member& member : unit_.members) {
      if (member.role != Role::Full || member.level != level || !is_stored(member)) continue;
      stores.push_back(store_of(member));
    }
    for (const Placement& placement : unit_.placements) {
      if (level_of(placement) == level) stores.push_back(placed(placement));
    }
    add_map(expressions_.has_inner(), std::move(stores));
  }

  int level_of(const Placement& placement) const {
    const View view = trace(placement.value, placement.from, names_, units_);
    const Member* member = expressions_.member_of(*view.source.node);
    return member == nullptr ? 0 : member->level;
  }

  Store placed(const Placement& placement) {
    Store store;
    store.value = expressions_.expression(placement.value, placement.from);
    Access made = expressions_.access(placement.target, placement.to, /*written=*/true);
    if (placement.indices) {
      const int index = expressions_.expression(placement.indices, placement.indices_from);
      expressions_.make_dynamic(made, index, names_(placement.target.dims()),
                                placement.dynamic_axis);
    }
    store.accumulate = placement.adds;
    if (placement.adds) kernel().operands[static_cast<std::size_t>(made.operand)].read = true;
    const Node* asks = placement.indices ? placement.target.node.get() : nullptr;
    store.access = expressions_.add_access(made, asks);
    if (placement.in_blocks) in_blocks_.push_back(store.access);
    return store;
  }

  void add_running() {
    for (const Member& member : unit_.members) {
      if (member.role != Role::Running) continue;
      Stage stage;
      stage.kind = StageKind::Running;
      stage.combiner = def(*member.node).combiner;
      stage.value = expressions_.point_value(member);
      expressions_.set_stage(member, next_stage());
      stage.stores.push_back(store_of(member));
      kernel().stages.push_back(std::move(stage));
    }
  }

  /// What the kernel computes, for its name.
  std::vector<const Node*> nodes() const {
    std::vector<const Node*> list;
    for (const Member& member : unit_.members) list.push_back(member.node);
    for (const Placement& placement : unit_.placements) {
      list.push_back(placement.target.node.get());
    }
    return list;
  }

  const Unit& unit_;
  const Units& units_;
  const SizeNames& names_;
  KernelExpressions expressions_;
  std::vector<int> in_blocks_;  // accesses
};

}  // namespace

BuiltKernel build_kernel(const Unit& unit, const Units& units, const SizeNames& names,
                         int number) {
  return KernelBuilder(unit, units, names).run(number);
}

std::vector<int> build_kernels(const Units& units, const SizeNames& names,
                               std::vector<BuiltKernel>& kernels) {
  std::vector<int> numbers;
  for (const Unit& unit : units.units) {
    numbers.push_back(-1);
    if (unit.kind != UnitKind::Kernel) continue;
    const int number = static_cast<int>(kernels.size());
    BuiltKernel built = build_kernel(unit, units, names, number);
    if (built.kernel.stages.empty()) continue;
    numbers.back() = number;
    kernels.push_back(std::move(built));
  }
  return numbers;
}

}  // namespace kiln::codegen
