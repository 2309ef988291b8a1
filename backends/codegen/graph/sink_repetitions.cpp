// A reshape of a stored tensor costs nothing, and one that splits axes is a view. One that merges a
// repeated axis with the one before it is neither: its reader would divide indices, so that the
// repeated tensor is stored. Behind the last work on the repeated elements, it is a reshape of what
// is stored anyway.
#include "backends/codegen/graph/sink_repetitions.h"

#include "backends/codegen/access/bounded_product.h"
#include "core/ir/origin.h"
#include "core/ir/traverse.h"
#include "core/ops/build.h"
#include "core/ops/rewrite_graph.h"
#include "core/types/at.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <variant>

namespace kiln::codegen {
namespace {

using ir::Dims;
using ir::Ints;
using ir::Node;
using ir::NodeRef;
using ir::Op;
using ir::Ternary;
using ir::Value;

/// For each axis of a reshape's result, the adjacent axes of its operand that it merges, by their
/// first; then the operand's rank. nullopt where an axis is no such product.
std::optional<Ints> merged_axes(const Dims& from, const Dims& to) {
  Ints firsts;
  std::size_t axis = 0;
  for (const ir::Dim& dim : to) {
    firsts.push_back(static_cast<std::int64_t>(axis));
    std::optional<ir::Dim> product = 1;
    do {
      if (axis == from.size()) return std::nullopt;
      product = bounded_product(*product, from[axis++]);
      if (!product) return std::nullopt;
    } while (ir::equal(*product, dim) != Ternary::Yes);
  }
  if (axis != from.size()) return std::nullopt;
  firsts.push_back(static_cast<std::int64_t>(axis));
  return firsts;
}

/// A value that is a reshape of `value`, whose axes firsts[i] to firsts[i + 1] are its axis i.
struct Split {
  Value value;
  Ints firsts;

  /// The axes of `value` that axis i merges.
  Ints axes_of(std::int64_t i) const {
    Ints axes;
    for (std::int64_t axis = firsts[at(i)]; axis < firsts[at(i) + 1]; ++axis) axes.push_back(axis);
    return axes;
  }
};

/// The nodes before a repetition that are computed for each of the repeated elements, at most.
constexpr int kMaxRepeated = 8;

class Sinker {
 public:
  std::vector<Value> run(const std::vector<Value>& results) {
    for (const Node* node : ir::topological_order(results)) {
      for (const Value& operand : node->operands) ++uses_[operand.node.get()];
    }
    for (const Value& result : results) ++uses_[result.node.get()];
    return ir::rewrite_nodes(results, [&](const NodeRef& node) -> std::vector<Value> {
      const NodeRef inner = ir::change_lambdas(
          node, [](const std::vector<Value>& body) { return Sinker().run(body); });
      std::optional<Value> moved = sunk(*inner);
      return moved ? std::vector<Value>{*moved} : ir::results_of(inner);
    });
  }

 private:
  std::optional<Value> sunk(const Node& node) {
    if (node.op == Op::Permute) return permuted(node);
    if (node.op == Op::Broadcast) return repeated(node);
    if (node.op == Op::Reshape) return merged(node);
    const ir::OpDef& d = def(node);
    if (d.lowering == ir::Lowering::Elementwise) return applied(node);
    const bool reduces =
        d.lowering == ir::Lowering::Reduce && std::holds_alternative<ir::AxesAttrs>(node.attrs);
    return reduces ? reduced(node) : std::nullopt;
  }

  /// The split of a reshape that ends a repetition or was moved.
  std::optional<Split> split_of(const Value& value) {
    if (value.node->op != Op::Reshape) return std::nullopt;
    const Value& operand = value.node->operands[0];
    std::optional<Ints> firsts = merged_axes(operand.dims(), value.dims());
    if (!firsts) return std::nullopt;
    if (is_moved(operand)) return Split{operand, std::move(*firsts)};
    if (!repeats(operand, *firsts)) return std::nullopt;
    int count = 0;
    const bool is_broadcast = operand.node->op == Op::Broadcast;
    return Split{is_broadcast ? repeated_first(operand, count) : operand, std::move(*firsts)};
  }

  /// broadcast(f(x)) as f(broadcast(x)) for cheap work that nothing else uses, so that it needs no
  /// kernel before the one of the repeated elements. `count`: of nodes moved so far.
  Value repeated_first(const Value& broadcast, int& count) {
    if (broadcast.node->op != Op::Broadcast) return broadcast;  // it changes nothing
    const Node& node = *broadcast.node->operands[0].node;
    const auto uses = uses_.find(&node);
    const bool is_own = uses != uses_.end() ? uses->second == 1 : repeated_.count(&node) != 0;
    const bool is_cheap = def(node).lowering == ir::Lowering::Elementwise && !def(node).expensive;
    if (!is_own || !is_cheap || count == kMaxRepeated) return broadcast;
    ++count;
    const ir::OriginScope scope(node.origin, /*replace=*/true);
    const Ints& axes = broadcast.node->as<ir::BroadcastAttrs>().axes;
    std::vector<Value> operands;
    for (const Value& own : node.operands) {
      operands.push_back(repeated_first(ir::broadcast(own, broadcast.dims(), axes), count));
    }
    kept_.push_back(ir::make(node.op, node.attrs, operands));
    repeated_.insert(kept_.back().node.get());
    return kept_.back();
  }

  bool is_moved(const Value& value) const { return moved_.count(value.node.get()) != 0; }

  /// Whether the value is a Broadcast that adds an axis which the reshape merges with others, or
  /// computed of such ones.
  static bool repeats(const Value& value, const Ints& firsts, int depth = 0) {
    if (def(*value.node).lowering == ir::Lowering::Elementwise && depth < kMaxRepeated) {
      return std::any_of(value.node->operands.begin(), value.node->operands.end(),
                         [&](const Value& operand) { return repeats(operand, firsts, depth + 1); });
    }
    if (value.node->op != Op::Broadcast) return false;
    const Ints& mapped = value.node->as<ir::BroadcastAttrs>().axes;
    for (std::size_t i = 0; i + 1 < firsts.size(); ++i) {
      if (firsts[i + 1] - firsts[i] < 2) continue;
      for (std::int64_t axis = firsts[i]; axis < firsts[i + 1]; ++axis) {
        const bool is_added = std::find(mapped.begin(), mapped.end(), axis) == mapped.end();
        if (is_added && !value.dims()[at(axis)].is_one()) return true;
      }
    }
    return false;
  }

  Value reshaped(Value value, const Dims& dims) {
    moved_.insert(value.node.get());
    kept_.push_back(value);
    return ir::reshape(value, dims);
  }

  std::optional<Value> applied(const Node& node) {
    std::optional<Split> split;
    for (const Value& operand : node.operands) {
      if (!split) split = split_of(operand);
    }
    if (!split) return std::nullopt;
    std::vector<Value> operands;
    for (const Value& operand : node.operands) {
      std::optional<Value> own = split_operand(operand, *split);
      if (!own) return std::nullopt;
      operands.push_back(std::move(*own));
    }
    return reshaped(ir::make(node.op, node.attrs, operands), node.types[0].dims);
  }

  /// The operand with the split's axes, if that costs nothing.
  std::optional<Value> split_operand(const Value& operand, const Split& split) {
    const Dims& dims = split.value.dims();
    if (const auto own = split_of(operand); own && own->value.dims() == dims) return own->value;
    const Node& node = *operand.node;
    if (node.op == Op::Broadcast) return split_broadcast(node, split);
    if (node.op == Op::Constant) return ir::reshape(operand, dims);
    switch (def(node).lowering) {
      case ir::Lowering::Argument:
      case ir::Lowering::Contraction: return ir::reshape(operand, dims);
      default: return std::nullopt;
    }
  }

  /// The Broadcast to the split's axes, if it varies along none that are merged.
  static std::optional<Value> split_broadcast(const Node& node, const Split& split) {
    Ints axes;
    for (const std::int64_t axis : node.as<ir::BroadcastAttrs>().axes) {
      const Ints own = split.axes_of(axis);
      if (own.size() != 1) return std::nullopt;
      axes.push_back(own[0]);
    }
    return ir::broadcast(node.operands[0], split.value.dims(), axes);
  }

  std::optional<Value> permuted(const Node& node) {
    const std::optional<Split> split = split_of(node.operands[0]);
    if (!split) return std::nullopt;
    Ints axes;
    for (const std::int64_t axis : node.as<ir::AxesAttrs>().axes) {
      for (const std::int64_t own : split->axes_of(axis)) axes.push_back(own);
    }
    return reshaped(ir::permute(split->value, axes), node.types[0].dims);
  }

  /// A reshape of a split value: two that follow each other are one.
  std::optional<Value> merged(const Node& node) {
    const std::optional<Split> split = split_of(node.operands[0]);
    if (!split) return std::nullopt;
    return ir::reshape(split->value, node.types[0].dims);
  }

  /// A Broadcast of a split value: each axis that it takes over becomes those that it merges. An
  /// axis of size 1, which a Broadcast may stretch, merges no other.
  std::optional<Value> repeated(const Node& node) {
    const std::optional<Split> split = split_of(node.operands[0]);
    if (!split) return std::nullopt;
    const Ints& mapped = node.as<ir::BroadcastAttrs>().axes;
    Dims dims;
    Ints axes;
    for (std::int64_t axis = 0; axis < std::ssize(node.types[0].dims); ++axis) {
      const auto found = std::find(mapped.begin(), mapped.end(), axis);
      if (found == mapped.end()) {
        dims.push_back(node.types[0].dims[at(axis)]);
        continue;
      }
      const Ints merged = split->axes_of(found - mapped.begin());
      const ir::Dim& size = node.types[0].dims[at(axis)];
      const bool keeps_size = node.operands[0].dims()[at(found - mapped.begin())] == size;
      if (!keeps_size && merged.size() != 1) return std::nullopt;
      for (const std::int64_t own : merged) {
        axes.push_back(std::ssize(dims));
        dims.push_back(keeps_size ? split->value.dims()[at(own)] : size);
      }
    }
    int count = 0;
    const Value all = repeated_first(ir::broadcast(split->value, dims, axes), count);
    return reshaped(all, node.types[0].dims);
  }

  std::optional<Value> reduced(const Node& node) {
    const std::optional<Split> split = split_of(node.operands[0]);
    if (!split) return std::nullopt;
    Ints axes;
    for (const std::int64_t axis : node.as<ir::AxesAttrs>().axes) {
      for (const std::int64_t own : split->axes_of(axis)) axes.push_back(own);
    }
    return reshaped(ir::reduce(node.op, split->value, axes), node.types[0].dims);
  }

  std::unordered_map<const Node*, int> uses_;  // of each node before the pass
  std::unordered_set<const Node*> moved_;  // operands of reshapes that this pass made
  std::unordered_set<const Node*> repeated_;  // work that this pass moved past a repetition
  std::vector<Value> kept_;  // keeps both alive
};

}  // namespace

std::vector<Value> sink_repetitions(const std::vector<Value>& results, const LibraryClaims*) {
  return Sinker().run(results);
}

}  // namespace kiln::codegen
