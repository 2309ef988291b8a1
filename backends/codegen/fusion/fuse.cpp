// The fusion algorithm; README.md of this folder describes it. Nodes join groups in topological
// order: producers' groups first, then groups that read the same tensors, else a new group.
#include "backends/codegen/fusion/fuse.h"

#include "backends/codegen/access/guarded_reads.h"
#include "backends/codegen/fusion/deferred_nodes.h"
#include "backends/codegen/fusion/fusion_rules.h"
#include "backends/codegen/fusion/index_nodes.h"
#include "backends/codegen/fusion/partial_writes.h"
#include "backends/codegen/fusion/reduction_parts.h"
#include "backends/codegen/fusion/rematerialise.h"
#include "backends/codegen/fusion/shared_totals.h"
#include "core/ir/traverse.h"
#include "core/ops/build.h"
#include "core/ops/table.h"

#include <algorithm>
#include <iterator>
#include <unordered_set>

namespace kiln::codegen {
namespace {

using ir::Node;
using ir::Op;
using ir::Value;

class Fuser {
 public:
  Fuser(const SizeNames& names, const FuseOptions& options)
      : names_(names), options_(options), builder_(names, options.target, options.is_body) {}

  FusionPlan run(const std::vector<Value>& results) {
    const std::vector<const Node*> order = ir::topological_order(results);
    builder_.plan.rematerialised = index_nodes(order, names_);
    phases_.emplace(order, names_, options_);
    const ir::NodeSet cheap = nodes_to_rematerialise(order, results, names_, options_, *phases_);
    for (const Node* node : order) {
      if (cheap.contains(node)) builder_.plan.rematerialised.insert(node);
    }
    for (const Value& result : results) request_dense(result);
    for (const Node* node : order) request_operands(*node);
    deferred_ = deferred_nodes(order, names_, builder_.plan);
    builder_.shared_totals = shared_totals(order);
    for (const Node* node : order) {
      if (deferred_.count(node) == 0) add(*node);
    }
    for (const Value& result : results) builder_.store(result);
    return builder_.finish();
  }

 private:
  // ---- materialisation ----

  /// Whether the node is a view or rematerialised: no group computes it, unless it must be dense.
  bool is_inlined(const Node& node) const {
    return is_view(node, names_) || builder_.plan.rematerialised.contains(&node);
  }

  /// Makes the value dense and row-major in memory.
  void request_dense(Value value) {
    while (is_alias(*value.node)) {
      const Value operand = value.node->operands[0];
      value = operand;
    }
    if (is_inlined(*value.node)) builder_.plan.dense.insert(value);
  }

  void request_operands(const Node& node) {
    const ir::Lowering lowering = def(node).lowering;
    const bool moves = node.op == Op::Reshape && !is_view(node, names_);
    const bool whole = lowering == ir::Lowering::Control || node.op == Op::HostCall ||
                       node.op == Op::ScatterSub || is_attention(node) || moves;
    const bool contracts = node.op == Op::Dot || node.op == Op::Conv;
    const bool claimed = contracts && options_.claims(node);
    for (std::size_t i = 0; i < node.operands.size(); ++i) {
      const bool gathered = node.op == Op::Gather && i == 0;
      const bool viewed = claimed && options_.takes_view(node, i);
      if (whole || gathered || (claimed && !viewed)) request_dense(node.operands[i]);
      if (viewed) request_source(node.operands[i]);
    }
  }

  /// A library call reads a view of a tensor in memory, so a rematerialised source is stored.
  void request_source(const Value& operand) {
    const Value source =
        trace(operand, identity_map(names_(operand.dims())), names_, builder_.plan).source;
    if (builder_.plan.rematerialised.contains(source.node.get())) {
      builder_.plan.dense.insert(source);
    }
  }

  // ---- nodes that are added with their consumer ----

  /// Adds the deferred producers of a node, preferably to the groups of its other producers, which
  /// the node itself will join.
  void add_deferred(const std::vector<View>& views) {
    std::vector<int> producers;
    for (const View& view : views) {
      const int producer = builder_.group_of(view.source);
      if (producer >= 0) producers.push_back(producer);
    }
    std::sort(producers.begin(), producers.end(), std::greater<>());
    for (const View& view : views) {
      const Node* node = view.source.node.get();
      if (deferred_.erase(node) != 0) add_to_kernel(*node, producers);
    }
  }

  // ---- groups other than kernels ----

  /// Adds a group whose operands are all tensors in memory.
  void add_call(const Node& node, NodeGroup::Kind kind) {
    const int index = builder_.add_group(NodeGroup{kind, &node});
    for (const Value& operand : node.operands) {
      const View view = trace(operand, identity_map(names_(operand.dims())), names_, builder_.plan);
      const Value source = kind == NodeGroup::Kind::LibraryCall ? view.source : operand;
      builder_.store(source);
      builder_.add_edge(builder_.group_of(source), index);
    }
    builder_.set_group(node, index);
    for (std::uint32_t i = 0; i < node.types.size(); ++i) {
      builder_.plan.stored.insert(node.result(i));
    }
  }

  void add_loop(const Node& node) { add_call(node, NodeGroup::Kind::Loop); }
  void add_branch(const Node& node) { add_call(node, NodeGroup::Kind::Branch); }
  void add_host_call(const Node& node) { add_call(node, NodeGroup::Kind::HostCall); }
  void add_attention(const Node& node) { add_call(node, NodeGroup::Kind::Attention); }
  void add_row_update(const Node& node) { add_call(node, NodeGroup::Kind::RowUpdate); }

  // ---- kernels ----

  /// The groups to try for a node, best first: producers of its operands (latest first), the last
  /// kernel of scalars, readers of its operands. Groups of a later phase come last, so that kernels
  /// of the node's own phase can still read its result.
  std::vector<int> candidates(const Node& node, const IterationSpace& space,
                              const std::vector<View>& views) const {
    std::vector<int> list;
    for (const View& view : views) {
      const int producer = builder_.group_of(view.source);
      if (producer >= 0) list.push_back(producer);
    }
    std::sort(list.begin(), list.end(), std::greater<>());
    if (space.domain.empty() && scalar_kernel_ >= 0) list.push_back(scalar_kernel_);
    for (const View& view : views) {
      const std::vector<int>& readers = builder_.readers_of(view.source);
      std::copy_if(readers.rbegin(), readers.rend(), std::back_inserter(list), [&](int index) {
        const KernelGroup* kernel = builder_.kernel_if(index);
        return view.source.rank() != 0 || !kernel || has_room_for_chain(*kernel);
      });
    }
    const int phase = phases_->of(node);
    std::stable_partition(list.begin(), list.end(), [&](int index) {
      const KernelGroup* kernel = builder_.kernel_if(index);
      return !kernel || phases_->of(*kernel) <= phase;
    });
    return list;
  }

  /// A kernel that a node may join, and its role there.
  struct Choice {
    int group;
    Role role;
  };

  /// The first candidate that the node may join. `only_reducing`: considers only kernels that
  /// reduce.
  std::optional<Choice> find_kernel(const Node& node, const IterationSpace& space,
                                    const std::vector<View>& views, bool only_reducing,
                                    std::vector<int> preferred) const {
    const std::vector<int> others = candidates(node, space, views);
    preferred.insert(preferred.end(), others.begin(), others.end());
    for (int candidate : preferred) {
      const KernelGroup* kernel = builder_.kernel_if(candidate);
      if (!kernel || (only_reducing && !kernel->has_reduced_axes)) continue;
      const auto role = role_in(builder_, candidate, space, views);
      if (role) return Choice{candidate, *role};
    }
    return std::nullopt;
  }

  Choice new_kernel(const IterationSpace& space) {
    const int index =
        builder_.add_group(KernelGroup{.domain = space.domain, .reduced = space.reduced});
    if (space.domain.empty()) scalar_kernel_ = index;
    return {index, space.role};
  }

  /// Merges the node's other producers into its group where that is legal.
  void merge_producers(const Choice& chosen, const IterationSpace& space,
                       const std::vector<View>& views) {
    for (const View& view : views) {
      const int producer = builder_.group_of(view.source);
      if (!can_merge(builder_, chosen.group, producer, space, chosen.role, views)) continue;
      builder_.merge(chosen.group, producer);
      if (scalar_kernel_ == producer) scalar_kernel_ = chosen.group;
    }
  }

  /// Follows each read through views. Appends the operands of a rematerialised value to `reads`,
  /// because the node's kernel reads those instead of the value.
  std::vector<View> follow(std::vector<OperandRead>& reads) const {
    std::vector<View> views;
    for (std::size_t i = 0; i < reads.size(); ++i) {
      const OperandRead read = reads[i];
      views.push_back(read.memory ? View{read.value, read.map}
                                  : trace(read.value, read.map, names_, builder_.plan));
      const View from = views.back();
      const bool recomputes = builder_.plan.rematerialised.contains(from.source.node.get()) &&
                              builder_.plan.dense.count(from.source) == 0;
      if (!recomputes) continue;
      for (const Value& operand : from.source.node->operands) {
        if (operand.node->op == Op::Constant && operand.rank() == 0) continue;  // an immediate
        reads.push_back({operand, operand.rank() == 0 ? AccessMap{} : from.map});
      }
    }
    return views;
  }

  void add_to_kernel(const Node& node) { add_to_kernel(node, {}); }

  void add_to_kernel(const Node& node, const std::vector<int>& preferred) {
    const bool is_dense = builder_.plan.dense.count(node.result()) != 0;
    IterationSpace space = iteration_space(node, names_, is_dense);
    const std::vector<View> views = follow(space.reads);
    add_deferred(views);
    const bool in_parts = space.role == Role::Reduce && runs_in_parts(builder_, space);
    std::optional<Choice> found = find_kernel(node, space, views, in_parts, preferred);
    if (!found && sum_columns(node, space, views)) return;
    if (!found && in_parts) {
      found = find_kernel(node, space, views, /*only_reducing=*/false, preferred);
    }
    const Choice chosen = found ? *found : new_kernel(space);
    merge_producers(chosen, space, views);
    const int level = level_of(builder_, chosen.group, views);
    KernelGroup& group = builder_.kernel(chosen.group);
    if (space.role == Role::Reduce || space.role == Role::Running) {
      group.has_reduced_axes = true;
      group.reduced = space.reduced;
      group.is_closed = space.role == Role::Running;
    }
    builder_.add_member(chosen.group, node, chosen.role, level);
    for (const View& view : views) builder_.note_read(chosen.group, view.source);
    if (is_dense) builder_.plan.stored.insert(node.result());
  }

  /// Adds a column sum to a kernel that reduces rows: a sum over exactly the axes that the kernel
  /// keeps, of a value that it computes or reads at every point. The kernel accumulates it row by
  /// row. Returns whether there is such a kernel.
  bool sum_columns(const Node& node, const IterationSpace& space, const std::vector<View>& views) {
    if (options_.is_body || node.op != Op::Sum || space.role != Role::Reduce) return false;
    if (space.reads.size() > 1) return false;  // follow() added reads of a rematerialised value
    const OperandRead& read = space.reads[0];
    for (const int index : candidates(node, space, views)) {
      if (!can_sum_columns(builder_, index, space)) continue;
      if (!is_readable(builder_, index, space, Role::Full, read, views[0])) continue;
      write_column_sum(builder_, node, index, read, views[0]);
      return true;
    }
    return false;
  }

  // ---- dispatch ----

  void add_contraction(const Node& node) {
    if (options_.claims(node)) return add_call(node, NodeGroup::Kind::LibraryCall);
    add_to_kernel(node);
  }

  /// Pad and Fold: a separate kernel where the points are not the result's elements in order.
  void add_guarded(const Node& node) {
    IterationSpace space = iteration_space(node, names_, /*dense=*/false);
    if (space.result.empty()) return add_to_kernel(node);
    const std::vector<View> views = follow(space.reads);
    add_deferred(views);
    const int index = builder_.add_closed_kernel(space.domain);
    builder_.kernel(index).reduced = space.reduced;
    builder_.kernel(index).has_reduced_axes = space.reduces();
    builder_.add_member(index, node, space.role, /*level=*/0);
    for (const View& view : views) builder_.note_read(index, view.source);
  }

  void add_fold(const Node& node) {
    if (windows_tile(node, names_)) return write_tiles(builder_, node);
    add_guarded(node);
  }

  template <void (*kWrite)(FusionBuilder&, const Node&)>
  void add_writes(const Node& node) {
    kWrite(builder_, node);
  }

  struct Row {
    Op op;
    void (Fuser::*add)(const Node&);
  };

  /// Whether the lowering class alone says how to add the op: at points of a kernel, or as a view
  /// (access/view.cpp). Composites that no claim takes are expanded before fusion.
  static constexpr bool needs_no_row(const ir::OpDef& d) {
    switch (d.lowering) {
      case ir::Lowering::Argument:
      case ir::Lowering::Leaf:
      case ir::Lowering::Elementwise:
      case ir::Lowering::Reduce:
      case ir::Lowering::Running:
      case ir::Lowering::Composite: return true;
      case ir::Lowering::Movement: return d.arity == 1;
      case ir::Lowering::Structural: return d.alias;
      case ir::Lowering::Indexed:
      case ir::Lowering::Contraction:
      case ir::Lowering::Control: return false;
    }
    return false;
  }

  void add(const Node& node) {
    static constexpr Row kRows[] = {
        {Op::Scan, &Fuser::add_loop},
        {Op::While, &Fuser::add_loop},
        {Op::Cond, &Fuser::add_branch},
        {Op::HostCall, &Fuser::add_host_call},
        {Op::Dot, &Fuser::add_contraction},
        {Op::Conv, &Fuser::add_contraction},
        {Op::Concat, &Fuser::add_writes<write_concat>},
        {Op::Pad, &Fuser::add_guarded},
        {Op::ScatterAdd, &Fuser::add_writes<write_scatter_add>},
        {Op::ScatterSub, &Fuser::add_row_update},
        {Op::Attention, &Fuser::add_attention},
        {Op::AttentionGradient, &Fuser::add_attention},
        {Op::Fold, &Fuser::add_fold},
        {Op::Gather, &Fuser::add_to_kernel},
    };
    static_assert(ir::every_op([](const ir::OpDef& d) {
                    return needs_no_row(d) ||
                           std::any_of(std::begin(kRows), std::end(kRows),
                                       [&](const Row& row) { return row.op == d.op; });
                  }),
                  "fuse.cpp handles an op neither by its lowering class nor by a row");
    if (is_leaf(node)) return;
    for (const Row& row : kRows) {
      if (row.op == node.op) return (this->*row.add)(node);
    }
    const bool is_dense = builder_.plan.dense.count(node.result()) != 0;
    if (is_dense || !(is_inlined(node) || is_alias(node))) add_to_kernel(node);
  }

  const SizeNames& names_;
  const FuseOptions& options_;
  FusionBuilder builder_;
  std::unordered_set<const Node*> deferred_;  // NodeSet cannot erase
  std::optional<Phases> phases_;
  int scalar_kernel_ = -1;  // the last kernel without axes
};

}  // namespace

FusionPlan fuse(const std::vector<Value>& results, const SizeNames& names,
                const FuseOptions& options) {
  return Fuser(names, options).run(results);
}

FusionPlan fuse(const Computation& computation, const TargetDescription& target) {
  FuseOptions options;
  options.target = target;
  options.is_body = computation.is_body;
  options.claims = [&](const Node& node) {
    const ClaimDecision* decision = computation.decision(node);
    return decision && decision->taken_by;
  };
  options.takes_view = [&](const Node& node, std::size_t operand) {
    const ClaimDecision* decision = computation.decision(node);
    return decision && decision->takes_view[operand];
  };
  return fuse(computation.results, computation.names, options);
}

}  // namespace kiln::codegen
