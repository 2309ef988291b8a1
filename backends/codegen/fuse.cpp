// Fusion: nodes in topological order, each joining the unit of one of its producers when it runs
// over the same points, else a unit that reads the same tensors, else starting a new one.
// Invariant: `before` of every unit is transitively closed, so that no join can make a cycle.
#include "backends/codegen/units.h"

#include "backends/codegen/column_sums.h"
#include "backends/codegen/points.h"
#include "core/ir/traverse.h"
#include "core/ops/build.h"
#include "core/ops/table.h"

#include <algorithm>
#include <bit>
#include <numeric>

namespace kiln::codegen {
namespace {

using ir::Dim;
using ir::Node;
using ir::Op;
using ir::Value;

/// Keeps kernels of a size that compiles quickly.
constexpr std::size_t kMaxMembers = 192;
/// Below this many outer points a reduction does not join the work that feeds it: that would
/// take the parallelism from it.
constexpr std::int64_t kFewPoints = 16;
constexpr std::int64_t kSmallDomain = 1 << 14;
constexpr int kMaxFreeDepth = 16;
/// How many units that read a tensor are tried for a sibling.
constexpr std::size_t kSiblings = 4;

class Fuser {
 public:
  Fuser(const SizeNames& names, const FuseOptions& options) : names_(names), options_(options) {}

  Units run(const std::vector<Value>& results) {
    const std::vector<const Node*> order = ir::topological_order(results);
    for (const Node* node : order) {
      if (const int depth = free_depth(*node); depth != 0) {
        free_depth_[node] = depth;
        out_.free.insert(node);
      }
    }
    for (const Value& result : results) request(result);
    for (const Node* node : order) request_operands(*node);
    for (const Node* node : order) place(*node);
    for (const Value& result : results) store(result);
    sort();
    return std::move(out_);
  }

 private:
  // ---- what must lie in memory ----

  /// Steps to compute a node from indices, sizes and constants alone; 0 when it needs more, or
  /// so many that it is better computed once.
  int free_depth(const Node& node) const {
    if (node.op == Op::Iota || node.op == Op::DimSize) return 1;
    const bool plain = def(node).lowering == ir::Lowering::Elementwise || is_view(node, names_);
    if (!plain || node.operands.empty()) return 0;
    int deepest = 1;
    for (const Value& operand : node.operands) {
      if (operand.node->op == Op::Constant && operand.rank() == 0) continue;
      const auto found = free_depth_.find(operand.node.get());
      if (found == free_depth_.end()) return 0;
      deepest = std::max(deepest, found->second);
    }
    return deepest < kMaxFreeDepth ? deepest + 1 : 0;
  }

  /// `value` is wanted dense and row-major in memory.
  void request(Value value) {
    while (is_alias(*value.node)) {
      const Value operand = value.node->operands[0];
      value = operand;
    }
    if (is_view(*value.node, names_) || out_.free.count(value.node.get())) out_.dense.insert(value);
  }

  void request_operands(const Node& node) {
    const ir::Lowering lowering = def(node).lowering;
    const bool moves = node.op == Op::Reshape && !is_view(node, names_);
    const bool whole = lowering == ir::Lowering::Control || node.op == Op::HostCall || moves;
    const bool library = node.op == Op::Dot || node.op == Op::Conv;
    const bool product = library && options_.claims(node);
    for (std::size_t i = 0; i < node.operands.size(); ++i) {
      const bool gathered = node.op == Op::Gather && i == 0;
      if (whole || gathered || (product && !options_.takes_view(node, i))) {
        request(node.operands[i]);
      }
    }
  }

  void store(const Value& value) {
    const Value storage = storage_of(value, out_);
    if (!is_leaf(*storage.node)) out_.stored.insert(storage);
  }

  // ---- units ----

  /// The unit that makes the value; -1 for leaves and for what is computed where it is used.
  int unit_of(const Value& value) const {
    const auto found = unit_of_.find(storage_of(value, out_).node.get());
    return found == unit_of_.end() ? -1 : found->second;
  }

  bool is_before(int first, int second) const {
    const auto& bits = unit(second).before;
    const auto word = static_cast<std::size_t>(first) / 64;
    return word < bits.size() && (bits[word] >> (first % 64) & 1);
  }

  void add_before(int unit_index, int earlier) {
    if (earlier < 0 || earlier == unit_index || is_before(earlier, unit_index)) return;
    std::vector<std::uint64_t> added = unit(earlier).before;
    const auto word = static_cast<std::size_t>(earlier) / 64;
    if (added.size() <= word) added.resize(word + 1, 0);
    added[word] |= std::uint64_t{1} << (earlier % 64);
    const auto merge = [&](std::vector<std::uint64_t>& bits) {
      if (bits.size() < added.size()) bits.resize(added.size(), 0);
      for (std::size_t i = 0; i < added.size(); ++i) bits[i] |= added[i];
    };
    merge(unit(unit_index).before);
    for (std::size_t i = 0; i < out_.units.size(); ++i) {
      if (is_before(unit_index, static_cast<int>(i))) merge(out_.units[i].before);
    }
  }

  Unit& unit(int index) { return out_.units[static_cast<std::size_t>(index)]; }
  const Unit& unit(int index) const { return out_.units[static_cast<std::size_t>(index)]; }

  int new_unit(UnitKind kind, const Node* node = nullptr) {
    Unit made;
    made.kind = kind;
    made.node = node;
    out_.units.push_back(std::move(made));
    return static_cast<int>(out_.units.size()) - 1;
  }

  /// A unit that is not a kernel: all operands lie in memory.
  void place_whole(const Node& node, UnitKind kind) {
    const int index = new_unit(kind, &node);
    for (const Value& operand : node.operands) {
      const View view = trace(operand, identity_map(names_(operand.dims())), names_, out_);
      const Value source = kind == UnitKind::Product ? view.source : operand;
      store(source);
      add_before(index, unit_of(source));
    }
    unit_of_[&node] = index;
    for (std::uint32_t i = 0; i < node.types.size(); ++i) out_.stored.insert(node.result(i));
  }

  // ---- joining ----

  struct Fit {
    bool fits = false;
    Role role = Role::Full;
  };

  Fit fit(int index, const Points& points, const std::vector<View>& views) const {
    const Unit& u = unit(index);
    if (u.kind != UnitKind::Kernel || u.closed || u.members.size() >= kMaxMembers) return {};
    Fit result{true, points.role};
    if (points.role == Role::Running) return {};
    if (points.role == Role::Full && points.domain != u.domain) {
      if (!u.split || points.domain != outer_dims(u)) return {};
      result.role = Role::Outer;
    }
    if (points.role == Role::Reduce) {
      if (points.domain != u.domain) return {};
      if (u.split ? u.reduced != points.reduced : !worth_splitting(u, points)) return {};
    }
    for (std::size_t i = 0; i < views.size(); ++i) {
      if (!readable(index, points, result.role, points.reads[i], views[i])) return {};
    }
    return result;
  }

  bool readable(int index, const Points& points, Role role, const Read& read,
                const View& view) const {
    const int maker = unit_of(view.source);
    if (maker < 0) return true;
    if (maker != index) return !is_before(index, maker);
    return at_the_point(index, points, role, read, view);
  }

  /// Whether a value that unit `index` makes is read where it is made.
  bool at_the_point(int index, const Points& points, Role role, const Read& read,
                    const View& view) const {
    if (read.memory) return false;
    const Unit& u = unit(index);
    const auto member = member_of_.find(view.source.node.get());
    if (member == member_of_.end()) return false;
    const Role made = u.members[member->second].role;
    std::vector<int> axes(points.domain.size());
    std::iota(axes.begin(), axes.end(), 0);
    if (made == Role::Full) return role != Role::Outer && is_identity(view.map, axes);
    if (made == Role::Running) return false;
    if (role == Role::Outer) return is_identity(view.map, axes);
    return is_identity(view.map, u.axes(/*of_reduced=*/false));
  }

  static ir::Dims outer_dims(const Unit& u) {
    ir::Dims dims;
    for (int axis : u.axes(/*of_reduced=*/false)) {
      dims.push_back(u.domain[static_cast<std::size_t>(axis)]);
    }
    return dims;
  }

  static bool worth_splitting(const Unit& u, const Points& points) {
    std::int64_t outer = 1, all = 1;
    bool known = true;
    for (std::size_t i = 0; i < points.domain.size(); ++i) {
      const Dim& dim = points.domain[i];
      if (!dim.is_static()) {
        known = false;
        if (!points.reduced[i]) return true;
        continue;
      }
      if (!points.reduced[i]) outer *= dim.value();
      all *= dim.value();
    }
    return u.members.empty() || outer >= kFewPoints || (known && all <= kSmallDomain);
  }

  int level_of(int index, const std::vector<View>& views) const {
    int level = 0;
    for (const View& view : views) {
      if (unit_of(view.source) != index) continue;
      const Member& member = unit(index).members[member_of_.at(view.source.node.get())];
      level = std::max(level, member.level + (member.role == Role::Reduce ? 1 : 0));
    }
    return level;
  }

  std::vector<int> candidates(const Points& points, const std::vector<View>& views) const {
    std::vector<int> list;
    for (const View& view : views) {
      const int maker = unit_of(view.source);
      if (maker >= 0) list.push_back(maker);
    }
    std::sort(list.begin(), list.end(), std::greater<>());
    if (points.domain.empty()) list.push_back(scalars_);
    for (const View& view : views) {
      const auto readers = readers_.find(storage_of(view.source, out_));
      if (readers == readers_.end()) continue;
      list.insert(list.end(), readers->second.rbegin(), readers->second.rend());
    }
    return list;
  }

  void place_points(const Node& node) {
    const Points points = points_of(node, names_, out_.dense.count(node.result()) != 0);
    std::vector<View> views;
    for (const Read& read : points.reads) {
      views.push_back(read.memory ? View{read.value, read.map}
                                  : trace(read.value, read.map, names_, out_));
    }
    int index = -1;
    Fit chosen;
    const bool in_parts = options_.sums_in_parts && worth_parts(node, names_);
    for (int candidate : candidates(points, views)) {
      if (candidate < 0 || (in_parts && !unit(candidate).split)) continue;
      chosen = fit(candidate, points, views);
      if (!chosen.fits) continue;
      index = candidate;
      break;
    }
    if (index < 0 && sum_columns(node, points, views)) return;
    if (index < 0 && in_parts) return reduce_in_parts(node);
    if (index < 0) {
      index = new_unit(UnitKind::Kernel);
      unit(index).domain = points.domain;
      unit(index).reduced = points.reduced;
      if (points.domain.empty()) scalars_ = index;
      chosen = {true, points.role};
    }
    for (const View& view : views) {
      const int maker = unit_of(view.source);
      if (can_merge(index, maker, points, chosen.role, views)) merge(index, maker);
    }
    const int level = level_of(index, views);
    if (points.role == Role::Reduce || points.role == Role::Running) {
      unit(index).split = true;
      unit(index).reduced = points.reduced;
      unit(index).closed = points.role == Role::Running;
    }
    member_of_[&node] = unit(index).members.size();
    unit(index).members.push_back({&node, chosen.role, level});
    unit_of_[&node] = index;
    for (const View& view : views) note_read(index, view.source);
    if (out_.dense.count(node.result())) out_.stored.insert(node.result());
  }

  /// Whether two kernels over the same points have nothing to do with each other yet, and a node
  /// that reads both does so where their values are made.
  bool can_merge(int into, int from, const Points& points, Role role,
                 const std::vector<View>& views) const {
    if (from < 0 || from == into || is_before(into, from) || is_before(from, into)) return false;
    const Unit &a = unit(into), &b = unit(from);
    if (points.role == Role::Running) return false;
    if (points.role == Role::Reduce && b.split && b.reduced != points.reduced) return false;
    for (std::size_t i = 0; i < views.size(); ++i) {
      const int maker = unit_of(views[i].source);
      const bool reads = maker == from;
      if (reads && !at_the_point(from, points, role, points.reads[i], views[i])) return false;
      if (maker >= 0 && is_before(from, maker)) return false;  // would come before and after it
    }
    return b.kind == UnitKind::Kernel && !a.closed && !b.closed && a.domain == b.domain &&
           (!a.split || !b.split || a.reduced == b.reduced) &&
           a.members.size() + b.members.size() < kMaxMembers;
  }

  void merge(int into, int from) {
    Unit &a = unit(into), &b = unit(from);
    if (b.split) a.reduced = b.reduced;
    a.split = a.split || b.split;
    for (const Member& member : b.members) {
      member_of_[member.node] = a.members.size();
      unit_of_[member.node] = into;
      a.members.push_back(member);
    }
    a.placements.insert(a.placements.end(), b.placements.begin(), b.placements.end());
    a.block = std::max(a.block, b.block);
    b.kind = UnitKind::Join;
    b.members.clear();
    b.placements.clear();
    // The emptied unit stays as what comes before whatever it came before; so does the merged one.
    add_before(from, into);
    for (std::size_t i = 0; i < out_.units.size(); ++i) {
      if (is_before(from, static_cast<int>(i))) add_before(static_cast<int>(i), into);
    }
    std::vector<std::uint64_t> earlier = unit(from).before;
    for (std::size_t i = 0; i < earlier.size() * 64; ++i) {
      const bool is_earlier = earlier[i / 64] >> (i % 64) & 1;
      if (is_earlier) add_before(into, static_cast<int>(i));
    }
    if (scalars_ == from) scalars_ = into;
  }

  /// A kernel reads `source`: from memory, unless it makes it itself.
  void note_read(int index, const Value& source) {
    const int maker = unit_of(source);
    if (maker == index) return;
    add_before(index, maker);
    if (maker >= 0) store(source);
    if (out_.free.count(source.node.get())) return;
    auto& readers = readers_[storage_of(source, out_)];
    if (std::find(readers.begin(), readers.end(), index) != readers.end()) return;
    if (readers.size() == kSiblings) readers.erase(readers.begin());
    readers.push_back(index);
  }

  /// A sum over the very axes that a unit does not reduce, of what that unit makes or reads at
  /// every point: it adds up blocks of rows on its way, and a kernel of its own adds those.
  bool sum_columns(const Node& node, const Points& points, const std::vector<View>& views) {
    if (!options_.sums_in_parts || node.op != Op::Sum || points.role != Role::Reduce) return false;
    for (const int index : candidates(points, views)) {
      const std::int64_t block = index < 0 ? 0 : block_for(unit(index), points);
      if (block == 0 || !readable(index, points, Role::Full, points.reads[0], views[0])) continue;
      const ColumnSum made = column_sum(node, unit(index), block, names_);
      out_.made.insert(out_.made.end(), {made.blocks, made.total});
      const Value zero = ir::scalar_constant(node.types[0].dtype, 0);
      out_.made.push_back(zero);
      const int ground = fill(zero, made.blocks);
      unit(index).block = block;
      unit(index).placements.push_back(
          {points.reads[0].value, points.reads[0].map, made.blocks, made.to, {}, {}, 0, true,
           true});
      note_read(index, views[0].source);
      add_before(index, ground);
      join(*made.blocks.node, {ground, index});
      out_.instead.emplace(&node, made.total);
      place(*made.total.node);
      if (out_.dense.count(node.result())) store(node.result());
      return true;
    }
    return false;
  }

  /// A reduction to few numbers, in two steps: the first over many independent rows.
  void reduce_in_parts(const Node& node) {
    const ir::OriginScope origin(node.origin, /*replace=*/true);
    const ir::Ints& axes = node.as<ir::AxesAttrs>().axes;
    const Value parts =
        ir::reduce(node.op, node.operands[0], ir::Ints(axes.begin() + 1, axes.end()));
    const Value total = ir::reduce(node.op, parts, {0});
    out_.made.insert(out_.made.end(), {parts, total});
    out_.instead.emplace(&node, total);
    place(*parts.node);
    place(*total.node);
    if (out_.dense.count(node.result())) store(node.result());
  }

  // ---- tensors written in parts ----

  int new_kernel(const ir::Dims& domain) {
    const int index = new_unit(UnitKind::Kernel);
    unit(index).domain = domain;
    unit(index).reduced.assign(domain.size(), false);
    unit(index).closed = true;
    return index;
  }

  /// A unit that writes one value everywhere over `target`.
  int fill(const Value& scalar, const Value& target) {
    const int index = new_kernel(domain_of(names_(target.dims())));
    Placement placement;
    placement.value = scalar;
    placement.target = target;
    placement.to = identity_map(names_(target.dims()));
    unit(index).placements.push_back(std::move(placement));
    note_read(index, trace(scalar, {}, names_, out_).source);
    return index;
  }

  /// Adds the placement to the unit that makes its value when that is possible.
  int put(Placement placement, const ir::Dims& domain) {
    const View view = trace(placement.value, placement.from, names_, out_);
    const int maker = unit_of(view.source);
    std::vector<int> axes(domain.size());
    std::iota(axes.begin(), axes.end(), 0);
    const auto member = member_of_.find(view.source.node.get());
    const bool here = maker >= 0 && unit(maker).kind == UnitKind::Kernel &&
                      member != member_of_.end() && unit(maker).domain == domain &&
                      unit(maker).members[member->second].role == Role::Full &&
                      is_identity(view.map, axes);
    const int index = here ? maker : new_kernel(domain);
    unit(index).placements.push_back(std::move(placement));
    note_read(index, view.source);
    return index;
  }

  void join(const Node& node, const std::vector<int>& parts) {
    const int index = new_unit(UnitKind::Join, &node);
    for (int part : parts) add_before(index, part);
    unit_of_[&node] = index;
    out_.stored.insert(node.result());
  }

  void place_concat(const Node& node) {
    std::vector<int> parts;
    Dim offset = 0;
    const auto axis = static_cast<std::size_t>(node.as<ir::AxisAttrs>().axis);
    for (const Value& part : node.operands) {
      const ir::Dims dims = names_(part.dims());
      Placement placement{part, identity_map(dims), node.result(), identity_map(dims), {}, {}, 0,
                          false, false};
      placement.to[axis].offset = offset;
      offset = offset + dims[axis];
      parts.push_back(put(std::move(placement), domain_of(dims)));
    }
    join(node, parts);
  }

  void place_pad(const Node& node) {
    const auto& attrs = node.as<ir::PadAttrs>();
    const ir::Dims dims = names_(node.operands[0].dims());
    const int ground = fill(node.operands[1], node.result());
    Placement placement{node.operands[0], identity_map(dims), node.result(), identity_map(dims),
                        {}, {}, 0, false, false};
    for (std::size_t i = 0; i < dims.size(); ++i) {
      placement.to[i].step *= attrs.interior[i] + 1;
      placement.to[i].offset = names_(attrs.low[i]);
    }
    const int index = new_kernel(domain_of(dims));
    note_read(index, trace(placement.value, placement.from, names_, out_).source);
    unit(index).placements.push_back(std::move(placement));
    add_before(index, ground);
    join(node, {ground, index});
  }

  void place_scatter_add(const Node& node) {
    const Value &indices = node.operands[0], &updates = node.operands[1];
    const Value zero = ir::scalar_constant(node.types[0].dtype, 0);
    out_.made.push_back(zero);
    const int ground = fill(zero, node.result());
    const IndexMap here = identity_map(names_(updates.dims()));
    const auto axis = node.as<ir::ScatterAttrs>().axis;
    const auto first = here.begin() + axis, last = first + indices.rank();
    Placement placement{updates, here, node.result(), IndexMap(here.begin(), first), indices,
                        IndexMap(first, last), static_cast<std::size_t>(axis), true, false};
    placement.to.push_back({});
    placement.to.insert(placement.to.end(), last, here.end());
    const int index = new_kernel(domain_of(names_(updates.dims())));
    unit(index).split = true;
    for (auto entry = first; entry != last; ++entry) {
      if (entry->axis >= 0) unit(index).reduced[static_cast<std::size_t>(entry->axis)] = true;
    }
    note_read(index, trace(updates, here, names_, out_).source);
    note_read(index, trace(indices, placement.indices_from, names_, out_).source);
    unit(index).placements.push_back(std::move(placement));
    add_before(index, ground);
    join(node, {ground, index});
  }

  /// Windows are added up over the axes that they overlap along; where none do, they are put side
  /// by side.
  void place_fold(const Node& node) {
    const auto& attrs = node.as<ir::FoldAttrs>();
    const Value& x = node.operands[0];
    const Value zero = ir::scalar_constant(node.types[0].dtype, 0);
    out_.made.push_back(zero);
    const int ground = fill(zero, node.result());
    const ir::Dims dims = names_(x.dims());
    const IndexMap here = identity_map(dims);
    const std::size_t rank = node.types[0].dims.size();
    const int index = new_kernel(domain_of(dims));
    Placement placement{x, here, node.result(),
                        IndexMap(here.begin(), here.begin() + static_cast<std::ptrdiff_t>(rank)),
                        {}, {}, 0, false, false};
    for (std::size_t i = 0; i < attrs.axes.size(); ++i) {
      const auto axis = static_cast<std::size_t>(attrs.axes[i]);
      AxisMap& entry = placement.to[axis];
      const AxisMap within = here[rank + i];
      entry = windowed(entry, attrs.strides[i], within, attrs.dilations[i]);
      const Dim width = (dims[rank + i] - 1) * Dim(attrs.dilations[i]) + 1;
      if (ir::less_equal(width, attrs.strides[i]) == ir::Answer::Yes) continue;
      placement.adds = true;
      entry.for_each_term([&](int term, std::int64_t) {
        unit(index).reduced[static_cast<std::size_t>(term)] = true;
      });
    }
    unit(index).split = placement.adds;
    note_read(index, trace(x, here, names_, out_).source);
    unit(index).placements.push_back(std::move(placement));
    add_before(index, ground);
    join(node, {ground, index});
  }

  // ---- dispatch ----

  struct Row {
    Op op;
    void (Fuser::*place)(const Node&);
  };
  void place_loop(const Node& node) { place_whole(node, UnitKind::Loop); }
  void place_branch(const Node& node) { place_whole(node, UnitKind::Branch); }
  void place_host_call(const Node& node) { place_whole(node, UnitKind::HostCall); }
  void place_dot(const Node& node) {
    if (options_.claims(node)) return place_whole(node, UnitKind::Product);
    place_points(node);
  }

  /// What runs at points by its lowering class, or is a map of indices (view.cpp); composites are
  /// expanded before.
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
        {Op::Scan, &Fuser::place_loop},         {Op::Cond, &Fuser::place_branch},
        {Op::HostCall, &Fuser::place_host_call}, {Op::Dot, &Fuser::place_dot},
        {Op::Concat, &Fuser::place_concat},     {Op::Pad, &Fuser::place_pad},
        {Op::ScatterAdd, &Fuser::place_scatter_add}, {Op::Gather, &Fuser::place_points},
        {Op::Fold, &Fuser::place_fold},          {Op::Conv, &Fuser::place_dot},
    };
    static_assert(ir::every_op([](const ir::OpDef& d) {
                    return needs_no_row(d) ||
                           std::any_of(std::begin(kRows), std::end(kRows),
                                       [&](const Row& row) { return row.op == d.op; });
                  }),
                  "fuse.cpp places an op neither by its lowering class nor by a row");
    const bool there = unit_of_.count(&node) != 0 || out_.instead.count(&node) != 0;
    if (is_leaf(node) || there) return;  // reduce_in_parts may have come first
    for (const Row& row : kRows) {
      if (row.op == node.op) return (this->*row.place)(node);
    }
    const bool dense = out_.dense.count(node.result()) != 0;
    const bool elsewhere = is_view(node, names_) || is_alias(node) || out_.free.count(&node);
    if (dense || !elsewhere) place_points(node);
  }

  /// More units come before a later one, so their number is an order.
  void sort() {
    std::vector<std::pair<int, std::size_t>> keys;
    for (std::size_t i = 0; i < out_.units.size(); ++i) {
      int count = 0;
      for (std::uint64_t word : out_.units[i].before) count += std::popcount(word);
      keys.emplace_back(count, i);
    }
    std::sort(keys.begin(), keys.end());
    std::vector<Unit> sorted;
    for (const auto& [count, i] : keys) sorted.push_back(std::move(out_.units[i]));
    out_.units = std::move(sorted);
  }

  const SizeNames& names_;
  const FuseOptions& options_;
  Units out_;
  std::unordered_map<const Node*, int> unit_of_;
  std::unordered_map<const Node*, std::size_t> member_of_;
  std::unordered_map<const Node*, int> free_depth_;
  std::unordered_map<Value, std::vector<int>, ir::ValueHash> readers_;
  int scalars_ = -1;
};

}  // namespace

std::vector<int> Unit::axes(bool of_reduced) const {
  std::vector<int> list;
  for (std::size_t i = 0; i < reduced.size(); ++i) {
    if (reduced[i] == of_reduced) list.push_back(static_cast<int>(i));
  }
  return list;
}

bool is_alias(const Node& node) { return def(node).alias; }

Value storage_of(const Value& value, const Units& units) {
  Value storage = value;
  for (;;) {
    const auto other = units.instead.find(storage.node.get());
    const bool alias = is_alias(*storage.node) && units.dense.count(storage) == 0;
    if (other == units.instead.end() && !alias) return storage;
    const Value next = alias ? storage.node->operands[0] : other->second;
    storage = next;
  }
}

bool is_leaf(const Node& node) {
  return node.op == Op::Constant || def(node).lowering == ir::Lowering::Argument;
}

View trace(const Value& value, IndexMap map, const SizeNames& names, const Units& units) {
  View view = trace(value, std::move(map), names,
                    [&](const Value& at) { return units.dense.count(at) != 0; });
  const auto other = units.instead.find(view.source.node.get());
  if (other != units.instead.end()) view.source = other->second;
  return view;
}

Units fuse(const std::vector<Value>& results, const SizeNames& names,
           const FuseOptions& options) {
  return Fuser(names, options).run(results);
}

}  // namespace kiln::codegen
