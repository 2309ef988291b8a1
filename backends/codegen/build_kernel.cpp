// Expressions are made on demand from what a unit writes; reductions become stages, in order of
// how many of them lie before.
#include "backends/codegen/build_kernel.h"

#include "backends/codegen/column_sums.h"
#include "backends/codegen/points.h"
#include "backends/codegen/source.h"
#include "core/ops/build.h"
#include "core/types/text.h"

#include <algorithm>
#include <cstring>

namespace kiln::codegen {
namespace {

using ir::Dim;
using ir::Dims;
using ir::Node;
using ir::Op;
using ir::Value;

constexpr std::size_t kNameWords = 4;
constexpr std::size_t kMaxSources = 8;

class KernelBuilder {
 public:
  KernelBuilder(const Unit& unit, const Units& units, const SizeNames& names)
      : unit_(unit), units_(units), names_(names) {
    place_axes();
    for (const Member& member : unit.members) members_.emplace(member.node, &member);
  }

  BuiltKernel run(int number) {
    int levels = 0;
    for (const Member& member : unit_.members) levels = std::max(levels, member.level + 1);
    for (int level = 0; level <= levels; ++level) {
      add_outer_stores(level);
      add_reductions(level);
      add_full_stores(level);
    }
    add_running();
    name(number);
    for (const Dim& dim : kernel().axes) add_size(kernel(), dim);
    choose_vector_axis();
    if (!in_blocks_.empty()) split_blocks(kernel(), unit_.block, in_blocks_);
    reuse_stored(kernel());
    collapse_axes(kernel());
    return std::move(out_);
  }

 private:
  Kernel& kernel() { return out_.kernel; }

  // ---- axes ----

  void place_axes() {
    outer_ = unit_.axes(/*of_reduced=*/false);
    inner_ = unit_.axes(/*of_reduced=*/true);
    position_.resize(unit_.domain.size());
    for (const std::vector<int>* list : {&outer_, &inner_}) {
      for (int axis : *list) {
        position_[static_cast<std::size_t>(axis)] = static_cast<int>(kernel().axes.size());
        kernel().axes.push_back(unit_.domain[static_cast<std::size_t>(axis)]);
      }
    }
    kernel().outer = static_cast<int>(outer_.size());
  }

  /// Lanes go along the last axis of the tensors; where steps follow each other along it, along
  /// the last outer one.
  void choose_vector_axis() {
    if (unit_.domain.empty()) return;
    const bool last_is_inner = unit_.reduced.back();
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

  // ---- expressions ----

  int add(Expression expression) {
    kernel().expressions.push_back(expression);
    return static_cast<int>(kernel().expressions.size()) - 1;
  }

  int constant_int(std::int64_t value) {
    Expression e;
    e.dtype = DType::Int64;
    e.bits = static_cast<std::uint64_t>(value);
    return add(e);
  }

  int apply(Op op, DType dtype, int first, int second = -1, int third = -1) {
    Expression e;
    e.kind = ExpressionKind::Apply;
    e.op = op;
    e.dtype = dtype;
    e.arguments = {first, second, third};
    return add(e);
  }

  int convert(int from, DType dtype) {
    if (kernel().expressions[static_cast<std::size_t>(from)].dtype == dtype) return from;
    Expression e;
    e.kind = ExpressionKind::Convert;
    e.dtype = dtype;
    e.arguments[0] = from;
    return add(e);
  }

  int size_value(const Dim& dim) {
    if (dim.is_static()) return constant_int(dim.value());
    Expression e;
    e.kind = ExpressionKind::SizeValue;
    e.dtype = DType::Int64;
    e.number = add_size(kernel(), dim);
    return add(e);
  }

  int index_of(const AxisMap& entry) {
    if (entry.axis < 0) return size_value(entry.offset);
    int index = -1;
    entry.for_each_term([&](int axis, std::int64_t step) {
      Expression e;
      e.kind = ExpressionKind::AxisIndex;
      e.dtype = DType::Int64;
      e.number = position_[static_cast<std::size_t>(axis)];
      int term = add(e);
      if (step != 1) term = apply(Op::Mul, DType::Int64, term, constant_int(step));
      index = index < 0 ? term : apply(Op::Add, DType::Int64, index, term);
    });
    if (entry.offset == Dim(0)) return index;
    return apply(Op::Add, DType::Int64, index, size_value(entry.offset));
  }

  int constant(const Node& node) {
    const auto& bytes = *node.as<ir::ConstantAttrs>().data.bytes;
    Expression e;
    e.dtype = node.types[0].dtype;
    std::memcpy(&e.bits, bytes.data(), std::min(bytes.size(), sizeof e.bits));
    return add(e);
  }

  int operand_number(const Value& storage, bool written) {
    for (std::size_t i = 0; i < out_.operands.size(); ++i) {
      if (out_.operands[i] != storage) continue;
      (written ? kernel().operands[i].written : kernel().operands[i].read) = true;
      return static_cast<int>(i);
    }
    out_.operands.push_back(storage);
    const auto count = out_.operands.size() - 1;
    kernel().operands.push_back({text("b", count), storage.dtype(), !written, written});
    return static_cast<int>(count);
  }

  /// An access to the tensor that holds `value`, at `map` over the domain.
  Access access(const Value& value, const IndexMap& map, bool written) {
    Access made;
    made.operand = operand_number(storage_of(value, units_), written);
    made.strides.assign(kernel().axes.size(), Dim(0));
    const Dims strides = dense_strides(names_(value.dims()));
    for (std::size_t i = 0; i < map.size(); ++i) {
      made.offset = made.offset + map[i].offset * strides[i];
      map[i].for_each_term([&](int axis, std::int64_t step) {
        Dim& stride = made.strides[static_cast<std::size_t>(
            position_[static_cast<std::size_t>(axis)])];
        stride = stride + strides[i] * Dim(step);
      });
    }
    return made;
  }

  int add_access(const Access& made, const Node* node = nullptr) {
    add_size(kernel(), made.offset);
    for (const Dim& stride : made.strides) add_size(kernel(), stride);
    if (made.dynamic >= 0) {
      add_size(kernel(), made.dynamic_stride);
      add_size(kernel(), made.dynamic_limit);
    }
    kernel().accesses.push_back(made);
    out_.access_nodes.push_back(node);
    return static_cast<int>(kernel().accesses.size()) - 1;
  }

  int load(const Access& made, const Node* node = nullptr) {
    Expression e;
    e.kind = ExpressionKind::Load;
    e.dtype = kernel().operands[static_cast<std::size_t>(made.operand)].dtype;
    e.number = add_access(made, node);
    return add(e);
  }

  struct Known {
    IndexMap map;
    int expression;
  };

  int expression(const Value& value, const IndexMap& map) {
    const View view = trace(value, map, names_, units_);
    std::vector<Known>& known = known_[view.source];
    for (const Known& entry : known) {
      if (entry.map == view.map) return entry.expression;
    }
    const int made = make(view);
    known_[view.source].push_back({view.map, made});
    return made;
  }

  int make(const View& view) {
    const Node& node = *view.source.node;
    const auto member = members_.find(&node);
    if (member != members_.end()) return member_value(*member->second);
    if (node.op == Op::Constant && domain_of(node.types[0].dims).empty()) return constant(node);
    const bool inlined = units_.free.count(&node) != 0 && units_.dense.count(view.source) == 0;
    if (inlined) return free_value(node, view.map);
    return load(access(view.source, view.map, /*written=*/false));
  }

  int free_value(const Node& node, const IndexMap& map) {
    if (node.op == Op::DimSize) return size_value(names_(node.as<ir::DimAttrs>().dim));
    if (node.op == Op::Iota) {
      const auto axis = static_cast<std::size_t>(node.as<ir::IotaAttrs>().axis);
      return convert(index_of(map[axis]), node.types[0].dtype);
    }
    std::array<int, 3> arguments{-1, -1, -1};
    for (std::size_t i = 0; i < node.operands.size(); ++i) {
      arguments[i] = expression(node.operands[i], map);
    }
    return scalar_work(node, arguments);
  }

  int scalar_work(const Node& node, const std::array<int, 3>& arguments) {
    if (node.op == Op::Cast) return convert(arguments[0], node.types[0].dtype);
    return apply(node.op, node.types[0].dtype, arguments[0], arguments[1], arguments[2]);
  }

  /// What a member is worth to its users: its expression, or the result of its stage.
  int member_value(const Member& member) {
    const auto stage = stage_of_.find(member.node);
    if (stage != stage_of_.end()) {
      Expression e;
      e.kind = ExpressionKind::StageResult;
      e.number = stage->second;
      e.dtype = member.node->types[0].dtype;
      return add(e);
    }
    return point_value(member);
  }

  /// The reads of a member, over the domain of the unit.
  Points reads_of(const Member& member) const {
    Points points = points_of(*member.node, names_, units_.dense.count(member.node->result()) != 0);
    if (member.role != Role::Outer) return points;
    for (Read& read : points.reads) {
      for (AxisMap& entry : read.map) {
        entry.for_each_term(
            [&](int& axis, std::int64_t) { axis = outer_[static_cast<std::size_t>(axis)]; });
      }
    }
    return points;
  }

  /// The element that a member has (or combines) at a point.
  int point_value(const Member& member) {
    const Node& node = *member.node;
    const Points points = reads_of(member);
    if (units_.dense.count(node.result()) && units_.free.count(&node)) {
      IndexMap here = identity_map(names_(node.types[0].dims));
      return is_view(node, names_) ? expression(points.reads[0].value, points.reads[0].map)
                                   : free_value(node, here);
    }
    if (is_view(node, names_)) return expression(points.reads[0].value, points.reads[0].map);
    if (node.op == Op::Gather) return gathered(node, points);
    if (node.op == Op::RandomUniform) return random(node, points);
    const ir::OpDef& d = def(node);
    if (d.combiner == Combiner::ArgMax && member.role != Role::Reduce) return constant_int(0);
    std::array<int, 3> arguments{-1, -1, -1};
    for (std::size_t i = 0; i < points.reads.size(); ++i) {
      arguments[i] = expression(points.reads[i].value, points.reads[i].map);
    }
    if (node.op == Op::Dot) return apply(Op::Mul, node.types[0].dtype, arguments[0], arguments[1]);
    const bool combines = d.lowering == ir::Lowering::Reduce || d.lowering == ir::Lowering::Running;
    if (combines) return arguments[0];
    return scalar_work(node, arguments);
  }

  int gathered(const Node& node, const Points& points) {
    const Value& reference = node.operands[0];
    const auto axis = static_cast<std::size_t>(node.as<ir::AxisAttrs>().axis);
    const auto count = static_cast<std::size_t>(node.operands[1].rank());
    const IndexMap& here = points.reads[0].map;
    IndexMap map(here.begin(), here.begin() + static_cast<std::ptrdiff_t>(axis));
    map.push_back({});
    map.insert(map.end(), here.begin() + static_cast<std::ptrdiff_t>(axis + count), here.end());
    const int index = expression(points.reads[1].value, points.reads[1].map);
    Access made = access(reference, map, /*written=*/false);
    const Dims dims = names_(reference.dims());
    made.dynamic = convert(index, DType::Int64);
    made.dynamic_stride = dense_strides(dims)[axis];
    made.dynamic_limit = dims[axis];
    return load(made, &node);
  }

  int random(const Node& node, const Points& points) {
    const auto& attrs = node.as<ir::RandomAttrs>();
    Expression e;
    e.kind = ExpressionKind::Random;
    e.dtype = node.types[0].dtype;
    e.seed = attrs.seed;
    e.stream = attrs.stream;
    e.arguments[0] = expression(points.reads[0].value, points.reads[0].map);
    const Dims dims = names_(node.types[0].dims);
    const Dims strides = dense_strides(dims);
    int element = constant_int(0);
    const IndexMap here = identity_map(dims);
    for (std::size_t i = 0; i < dims.size(); ++i) {
      if (here[i].axis < 0) continue;
      const int part = apply(Op::Mul, DType::Int64, index_of(here[i]), size_value(strides[i]));
      element = apply(Op::Add, DType::Int64, element, part);
    }
    e.arguments[1] = element;
    return add(e);
  }

  // ---- stages ----

  bool has_inner() const { return !inner_.empty(); }

  Store store_to(const Value& value, const IndexMap& map, int expression_index) {
    Store store;
    store.access = add_access(access(value, map, /*written=*/true));
    store.value = expression_index;
    return store;
  }

  IndexMap own_map(const Member& member) const {
    const bool outer = member.role == Role::Outer || member.role == Role::Reduce;
    IndexMap map = identity_map(names_(member.node->types[0].dims));
    if (!outer) return map;
    for (AxisMap& entry : map) {
      if (entry.axis >= 0) entry.axis = outer_[static_cast<std::size_t>(entry.axis)];
    }
    return map;
  }

  void add_stage(StageKind kind, bool inner, std::vector<Store> stores) {
    if (stores.empty()) return;
    Stage stage;
    stage.kind = kind;
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
      if ((!reduced && !outer) || !is_stored(member)) continue;
      stores.push_back(store_to(member.node->result(), own_map(member), member_value(member)));
    }
    add_stage(StageKind::Map, /*inner=*/false, std::move(stores));
  }

  void add_reductions(int level) {
    for (const Member& member : unit_.members) {
      if (member.role != Role::Reduce || member.level != level) continue;
      Stage stage;
      stage.kind = StageKind::Reduce;
      stage.combiner = def(*member.node).combiner;
      stage.value = point_value(member);
      if (stage.combiner == Combiner::ArgMax) {
        out_.nonempty.emplace_back(kernel().axes.back(), member.node);
      }
      kernel().stages.push_back(stage);
      stage_of_[member.node] = static_cast<int>(kernel().stages.size()) - 1;
    }
  }

  void add_full_stores(int level) {
    std::vector<Store> stores;
    for (const Member& member : unit_.members) {
      if (member.role != Role::Full || member.level != level || !is_stored(member)) continue;
      stores.push_back(store_to(member.node->result(), own_map(member), member_value(member)));
    }
    for (const Placement& placement : unit_.placements) {
      if (level_of(placement) == level) stores.push_back(placed(placement));
    }
    add_stage(StageKind::Map, has_inner(), std::move(stores));
  }

  int level_of(const Placement& placement) const {
    const View view = trace(placement.value, placement.from, names_, units_);
    const auto member = members_.find(view.source.node.get());
    return member == members_.end() ? 0 : member->second->level;
  }

  Store placed(const Placement& placement) {
    const int value = expression(placement.value, placement.from);
    Access made = access(placement.target, placement.to, /*written=*/true);
    Store store;
    store.value = value;
    if (placement.indices) {
      const int index = expression(placement.indices, placement.indices_from);
      const Dims dims = names_(placement.target.dims());
      made.dynamic = convert(index, DType::Int64);
      made.dynamic_stride = dense_strides(dims)[placement.dynamic_axis];
      made.dynamic_limit = dims[placement.dynamic_axis];
    }
    store.accumulate = placement.adds;
    if (placement.adds) kernel().operands[static_cast<std::size_t>(made.operand)].read = true;
    store.access = add_access(made, placement.indices ? placement.target.node.get() : nullptr);
    if (placement.in_blocks) in_blocks_.push_back(store.access);
    return store;
  }

  void add_running() {
    for (const Member& member : unit_.members) {
      if (member.role != Role::Running) continue;
      Stage stage;
      stage.kind = StageKind::Running;
      stage.combiner = def(*member.node).combiner;
      stage.value = point_value(member);
      stage_of_[member.node] = static_cast<int>(kernel().stages.size());
      stage.stores.push_back(
          store_to(member.node->result(), own_map(member), member_value(member)));
      kernel().stages.push_back(std::move(stage));
    }
  }

  // ---- names ----

  /// The K functions and lines of what is computed: in the name, which assembly and profilers
  /// show, the first few without their files.
  void name(int number) {
    std::vector<const Node*> nodes;
    for (const Member& member : unit_.members) nodes.push_back(member.node);
    for (const Placement& placement : unit_.placements) {
      nodes.push_back(placement.target.node.get());
    }
    std::vector<std::string> words, sources;
    const auto add = [](std::vector<std::string>& list, std::string text) {
      if (std::find(list.begin(), list.end(), text) == list.end()) list.push_back(std::move(text));
    };
    for (const Node* node : nodes) {
      add(words, name_of(*node));
      if (node->origin.where.known()) add(sources, source_of(*node));
    }
    std::string& title = kernel().name;
    title = text("k", number);
    for (std::size_t i = 0; i < std::min(words.size(), kNameWords); ++i) title += "_" + words[i];
    if (words.size() > kNameWords) title += text("_and_", words.size() - kNameWords);
    for (std::size_t i = 0; i < std::min(sources.size(), kMaxSources); ++i) {
      kernel().comes_from += (i == 0 ? "" : ", ") + sources[i];
    }
    if (sources.size() > kMaxSources) {
      kernel().comes_from += text(" and ", sources.size() - kMaxSources, " more");
    }
  }

  /// As part of an identifier: operators have the name of their op.
  static std::string name_of(const Node& node) {
    const ir::Origin& origin = node.origin;
    const std::string_view function = origin.function;
    const bool plain = !function.empty() &&
                       std::all_of(function.begin(), function.end(), [](const char c) {
                         return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
                       });
    std::string name(plain ? function : def(node.op).name);
    if (origin.where.known()) name += text("_line", origin.where.line);
    return name;
  }

  const Unit& unit_;
  const Units& units_;
  const SizeNames& names_;
  BuiltKernel out_;
  std::vector<int> outer_, inner_, position_;
  std::vector<int> in_blocks_;  // accesses
  std::unordered_map<const Node*, const Member*> members_;
  std::unordered_map<const Node*, int> stage_of_;
  std::unordered_map<Value, std::vector<Known>, ir::ValueHash> known_;
};

}  // namespace

BuiltKernel build_kernel(const Unit& unit, const Units& units, const SizeNames& names,
                         int number) {
  return KernelBuilder(unit, units, names).run(number);
}

}  // namespace kiln::codegen
