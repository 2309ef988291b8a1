// Fusion: nodes in topological order, each joining the unit of one of its producers when it runs
// over the same points, else a unit that reads the same tensors, else starting a new one. The units
// so far are a Fusion (fusion.h); the rules of joining are in joining.h.
#include "backends/codegen/fusion/fuse.h"

#include "backends/codegen/access/guarded_points.h"
#include "backends/codegen/fusion/index_nodes.h"
#include "backends/codegen/fusion/joining.h"
#include "backends/codegen/fusion/place_parts.h"
#include "backends/codegen/fusion/recompute.h"
#include "backends/codegen/fusion/reduction_parts.h"
#include "core/ir/traverse.h"
#include "core/ops/build.h"
#include "core/ops/table.h"

#include <algorithm>

namespace kiln::codegen {
namespace {

using ir::Node;
using ir::Op;
using ir::Value;

class Fuser {
 public:
  Fuser(const SizeNames& names, const FuseOptions& options)
      : names_(names), options_(options), fusion_(names, options.target, options.is_body) {}

  Units run(const std::vector<Value>& results) {
    const std::vector<const Node*> order = ir::topological_order(results);
    fusion_.out.free = index_nodes(order, names_);
    phases_.emplace(order, names_, options_);
    recomputed_ = recomputed_nodes(order, results, names_, options_, *phases_);
    fusion_.out.free.insert(recomputed_.begin(), recomputed_.end());
    for (const Value& result : results) request(result);
    for (const Node* node : order) request_operands(*node);
    find_waiting(order);
    for (const Node* node : order) {
      if (waiting_.count(node) == 0) place(*node);
    }
    for (const Value& result : results) fusion_.store(result);
    return fusion_.sorted();
  }

 private:
  // ---- what must lie in memory ----

  /// Whether the node is a view or free: computed where it is used, unless it is dense.
  bool is_elsewhere(const Node& node) const {
    return is_view(node, names_) || fusion_.out.free.count(&node) != 0;
  }

  /// `value` is wanted dense and row-major in memory.
  void request(Value value) {
    while (is_alias(*value.node)) {
      const Value operand = value.node->operands[0];
      value = operand;
    }
    if (is_elsewhere(*value.node)) fusion_.out.dense.insert(value);
  }

  void request_operands(const Node& node) {
    const ir::Lowering lowering = def(node).lowering;
    const bool moves = node.op == Op::Reshape && !is_view(node, names_);
    const bool whole = lowering == ir::Lowering::Control || node.op == Op::HostCall ||
                       node.op == Op::ScatterSub || moves;
    const bool library = node.op == Op::Dot || node.op == Op::Conv;
    const bool product = library && options_.claims(node);
    for (std::size_t i = 0; i < node.operands.size(); ++i) {
      const bool gathered = node.op == Op::Gather && i == 0;
      const bool viewed = product && options_.takes_view(node, i);
      if (whole || gathered || (product && !viewed)) request(node.operands[i]);
      if (viewed) request_source(node.operands[i]);
    }
  }

  /// Operands of library calls are views of tensors in memory, so a rematerialised source must be
  /// stored.
  void request_source(const Value& operand) {
    const Value source =
        trace(operand, identity_map(names_(operand.dims())), names_, fusion_.out).source;
    if (fusion_.out.free.count(source.node.get()) != 0) fusion_.out.dense.insert(source);
  }

  // ---- nodes that wait for their consumer ----

  bool runs_at_points(const Node& node) const {
    return def(node).lowering == ir::Lowering::Elementwise && !is_leaf(node) && !is_alias(node) &&
           !is_elsewhere(node);
  }

  bool reads_leaves_alone(const Node& node) const {
    return std::all_of(node.operands.begin(), node.operands.end(), [&](const Value& operand) {
      const View view = trace(operand, identity_map(names_(operand.dims())), names_, fusion_.out);
      return is_leaf(*view.source.node);
    });
  }

  /// Delays nodes that read only arguments and constants until their consumer is placed. Placed at
  /// once, they would join an unrelated kernel that reads the same constant and tie it to the
  /// consumer.
  void find_waiting(const std::vector<const Node*>& order) {
    std::unordered_map<const Node*, int> uses;
    for (const Node* node : order) {
      for (const Value& operand : node->operands) ++uses[operand.node.get()];
    }
    for (const Node* node : order) {
      if (!runs_at_points(*node)) continue;
      for (const Value& operand : node->operands) {
        const Node& maker = *operand.node;
        const bool only_here =
            uses[&maker] == 1 && runs_at_points(maker) && fusion_.out.dense.count(operand) == 0;
        if (only_here && reads_leaves_alone(maker) && !reads_leaves_alone(*node)) {
          waiting_.insert(&maker);
        }
      }
    }
  }

  /// The makers of the node's other operands are where it will want to be.
  void place_those_waiting(const std::vector<View>& views) {
    std::vector<int> makers;
    for (const View& view : views) {
      const int maker = fusion_.unit_of(view.source);
      if (maker >= 0) makers.push_back(maker);
    }
    std::sort(makers.begin(), makers.end(), std::greater<>());
    for (const View& view : views) {
      const Node* node = view.source.node.get();
      if (waiting_.erase(node) != 0) place_points(*node, makers);
    }
  }

  // ---- units that are no kernels ----

  /// All operands lie in memory.
  void place_whole(const Node& node, UnitKind kind) {
    const int index = fusion_.add_unit(kind, &node);
    for (const Value& operand : node.operands) {
      const View view = trace(operand, identity_map(names_(operand.dims())), names_, fusion_.out);
      const Value source = kind == UnitKind::Product ? view.source : operand;
      fusion_.store(source);
      fusion_.add_before(index, fusion_.unit_of(source));
    }
    fusion_.set_unit(node, index);
    for (std::uint32_t i = 0; i < node.types.size(); ++i) {
      fusion_.out.stored.insert(node.result(i));
    }
  }

  void place_loop(const Node& node) { place_whole(node, UnitKind::Loop); }
  void place_branch(const Node& node) { place_whole(node, UnitKind::Branch); }
  void place_host_call(const Node& node) { place_whole(node, UnitKind::HostCall); }
  void place_row_update(const Node& node) { place_whole(node, UnitKind::RowUpdate); }

  // ---- kernels ----

  /// Units that a node with these points may join, the best first: makers of its operands, the
  /// last unit of scalars, readers of its operands, those of a later phase last: what the node
  /// makes is then there for all units of its own phase.
  std::vector<int> candidates(const Node& node, const Points& points,
                              const std::vector<View>& views) const {
    std::vector<int> list;
    for (const View& view : views) {
      const int maker = fusion_.unit_of(view.source);
      if (maker >= 0) list.push_back(maker);
    }
    std::sort(list.begin(), list.end(), std::greater<>());
    if (points.domain.empty() && scalars_ >= 0) list.push_back(scalars_);
    for (const View& view : views) {
      const std::vector<int>& readers = fusion_.readers_of(view.source);
      list.insert(list.end(), readers.rbegin(), readers.rend());
    }
    const int phase = phases_->of(node);
    std::stable_partition(list.begin(), list.end(), [&](int index) {
      return phases_->of(fusion_.unit(index)) <= phase;
    });
    return list;
  }

  struct Place {
    int unit;
    Role role;
  };

  /// With `in_parts` only units that reduce already count.
  std::optional<Place> find_place(const Node& node, const Points& points,
                                  const std::vector<View>& views, bool in_parts,
                                  std::vector<int> preferred) const {
    const std::vector<int> others = candidates(node, points, views);
    preferred.insert(preferred.end(), others.begin(), others.end());
    for (int candidate : preferred) {
      if (in_parts && !fusion_.unit(candidate).split) continue;
      const auto role = role_in(fusion_, candidate, points, views);
      if (role) return Place{candidate, *role};
    }
    return std::nullopt;
  }

  Place new_place(const Points& points) {
    const int made = fusion_.add_unit(UnitKind::Kernel);
    fusion_.unit(made).domain = points.domain;
    fusion_.unit(made).reduced = points.reduced;
    if (points.domain.empty()) scalars_ = made;
    return {made, points.role};
  }

  void merge_makers(const Place& place, const Points& points, const std::vector<View>& views) {
    for (const View& view : views) {
      const int maker = fusion_.unit_of(view.source);
      if (!can_merge(fusion_, place.unit, maker, points, place.role, views)) continue;
      fusion_.merge(place.unit, maker);
      if (scalars_ == maker) scalars_ = place.unit;
    }
  }

  /// Where the reads of a node lead. A value that is computed where it is used is not read itself:
  /// what it is computed from is.
  std::vector<View> follow(std::vector<Read>& reads) const {
    std::vector<View> views;
    for (std::size_t i = 0; i < reads.size(); ++i) {
      const Read read = reads[i];
      views.push_back(read.memory ? View{read.value, read.map}
                                  : trace(read.value, read.map, names_, fusion_.out));
      const View from = views.back();
      const bool is_inlined = fusion_.out.free.count(from.source.node.get()) != 0 &&
                              fusion_.out.dense.count(from.source) == 0;
      if (!is_inlined) continue;
      for (const Value& operand : from.source.node->operands) {
        if (operand.node->op == Op::Constant && operand.rank() == 0) continue;  // in the code
        reads.push_back({operand, operand.rank() == 0 ? IndexMap{} : from.map});
      }
    }
    return views;
  }

  void place_points(const Node& node) { place_points(node, {}); }

  void place_points(const Node& node, const std::vector<int>& preferred) {
    const bool is_dense = fusion_.out.dense.count(node.result()) != 0;
    Points points = points_of(node, names_, is_dense);
    const std::vector<View> views = follow(points.reads);
    place_those_waiting(views);
    const bool in_parts = points.role == Role::Reduce && runs_in_parts(fusion_, points);
    std::optional<Place> found = find_place(node, points, views, in_parts, preferred);
    if (!found && sum_columns(node, points, views)) return;
    if (!found && in_parts) {
      found = find_place(node, points, views, /*in_parts=*/false, preferred);
    }
    const Place place = found ? *found : new_place(points);
    merge_makers(place, points, views);
    const int level = level_of(fusion_, place.unit, views);
    Unit& unit = fusion_.unit(place.unit);
    if (points.role == Role::Reduce || points.role == Role::Running) {
      unit.split = true;
      unit.reduced = points.reduced;
      unit.closed = points.role == Role::Running;
    }
    fusion_.add_member(place.unit, node, place.role, level);
    for (const View& view : views) fusion_.note_read(place.unit, view.source);
    if (is_dense) fusion_.out.stored.insert(node.result());
  }

  /// A sum over the very axes that a unit does not reduce, of what that unit makes or reads at
  /// every point: the unit adds to it row by row.
  bool sum_columns(const Node& node, const Points& points, const std::vector<View>& views) {
    if (options_.is_body || node.op != Op::Sum || points.role != Role::Reduce) return false;
    if (points.reads.size() > 1) return false;  // of what is made again (recompute.h)
    const Read& read = points.reads[0];
    for (const int index : candidates(node, points, views)) {
      if (!can_sum_columns(fusion_, index, points)) continue;
      if (!is_readable(fusion_, index, points, Role::Full, read, views[0])) continue;
      place_column_sum(fusion_, node, index, read, views[0]);
      return true;
    }
    return false;
  }

  // ---- dispatch ----

  void place_dot(const Node& node) {
    if (options_.claims(node)) return place_whole(node, UnitKind::Product);
    place_points(node);
  }

  /// Pad and Fold: a kernel of its own where points are not the result's elements in order.
  void place_guarded(const Node& node) {
    Points points = points_of(node, names_, /*dense=*/false);
    if (points.result.empty()) return place_points(node);
    const std::vector<View> views = follow(points.reads);
    place_those_waiting(views);
    const int index = fusion_.add_closed_kernel(points.domain);
    fusion_.unit(index).reduced = points.reduced;
    fusion_.unit(index).split = points.reduces();
    fusion_.add_member(index, node, points.role, /*level=*/0);
    for (const View& view : views) fusion_.note_read(index, view.source);
  }

  void place_fold(const Node& node) {
    if (windows_tile(node, names_)) return place_tiles(fusion_, node);
    place_guarded(node);
  }

  template <void (*kPlace)(Fusion&, const Node&)>
  void place_in_parts(const Node& node) {
    kPlace(fusion_, node);
  }

  struct Row {
    Op op;
    void (Fuser::*place)(const Node&);
  };

  /// Ops that run at points by their lowering class, or are maps of indices (view.cpp). Composites
  /// that no claim takes are expanded before.
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

  void place(const Node& node) {
    static constexpr Row kRows[] = {
        {Op::Scan, &Fuser::place_loop},
        {Op::Cond, &Fuser::place_branch},
        {Op::HostCall, &Fuser::place_host_call},
        {Op::Dot, &Fuser::place_dot},
        {Op::Conv, &Fuser::place_dot},
        {Op::Concat, &Fuser::place_in_parts<place_concat>},
        {Op::Pad, &Fuser::place_guarded},
        {Op::ScatterAdd, &Fuser::place_in_parts<place_scatter_add>},
        {Op::ScatterSub, &Fuser::place_row_update},
        {Op::Fold, &Fuser::place_fold},
        {Op::Gather, &Fuser::place_points},
    };
    static_assert(ir::every_op([](const ir::OpDef& d) {
                    return needs_no_row(d) ||
                           std::any_of(std::begin(kRows), std::end(kRows),
                                       [&](const Row& row) { return row.op == d.op; });
                  }),
                  "fuse.cpp places an op neither by its lowering class nor by a row");
    if (is_leaf(node)) return;
    for (const Row& row : kRows) {
      if (row.op == node.op) return (this->*row.place)(node);
    }
    const bool is_dense = fusion_.out.dense.count(node.result()) != 0;
    if (is_dense || !(is_elsewhere(node) || is_alias(node))) place_points(node);
  }

  const SizeNames& names_;
  const FuseOptions& options_;
  Fusion fusion_;
  std::unordered_set<const Node*> recomputed_, waiting_;
  std::optional<Phases> phases_;
  int scalars_ = -1;  // the last kernel without axes
};

}  // namespace

Units fuse(const std::vector<Value>& results, const SizeNames& names, const FuseOptions& options) {
  return Fuser(names, options).run(results);
}

Units fuse(const Computation& computation, const TargetDescription& target) {
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
