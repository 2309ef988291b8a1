// lies_in_memory() may be wrong: an operand that turns out not to be in memory is stored, which
// costs time but not correctness.
#include "backends/codegen/fusion/recompute.h"

#include "backends/codegen/access/guarded_points.h"
#include "core/ops/op.h"

#include <algorithm>

namespace kiln::codegen {
namespace {

using ir::Node;
using ir::Op;
using ir::Value;

bool is_scalar_constant(const Value& value) {
  return value.node->op == Op::Constant && value.rank() == 0;
}

class Search {
 public:
  Search(const std::vector<Value>& results, const SizeNames& names, const FuseOptions& options)
      : names_(names), options_(options) {
    for (const Value& result : results) keep(result);
  }

  std::unordered_set<const Node*> run(const std::vector<const Node*>& order) {
    for (const Node* node : order) note_uses(*node);
    std::unordered_set<const Node*> found;
    for (const Node* node : order) {
      if (is_wanted(*node) || is_for_windows(*node)) found.insert(node);
    }
    return found;
  }

 private:
  /// What views of `value` are made of.
  Value source(Value value) const {
    while (is_view(*value.node, names_) || is_alias(*value.node)) {
      const Value operand = value.node->operands[0];
      value = operand;
    }
    return value;
  }

  void keep(const Value& value) { kept_.insert(source(value).node.get()); }

  void note_uses(const Node& node) {
    const bool library = node.op == Op::Dot || node.op == Op::Conv;
    const bool whole = def(node).lowering == ir::Lowering::Control ||
                       node.op == Op::ScatterSub || (library && options_.claims(node));
    const bool points = def(node).lowering == ir::Lowering::Elementwise ||
                        def(node).lowering == ir::Lowering::Reduce;
    if (whole) kept_.insert(&node);
    for (const Value& operand : node.operands) {
      (is_gathered(node) ? added_up_ : used_by_others_).insert(operand.node.get());
      if (whole || node.op == Op::Window) keep(operand);
      if (!points) used_otherwise_.insert(operand.node.get());
    }
  }

  bool lies_in_memory(const Value& value) const {
    const Value from = source(value);
    return is_leaf(*from.node) || kept_.count(from.node.get()) != 0;
  }

  /// A fold that is computed element by element of its result: it reads each element of its operand
  /// once.
  bool is_gathered(const Node& node) const {
    return node.op == Op::Fold && !windows_tile(node, names_);
  }

  /// Work on windows that are added up, and for nothing else.
  bool is_for_windows(const Node& node) const {
    return node.op == Op::Select && added_up_.count(&node) != 0 &&
           used_by_others_.count(&node) == 0 && kept_.count(&node) == 0;
  }

  /// x - mean, the latter one number for many of x.
  bool centers(const Node& node) const {
    if (node.op != Op::Sub || node.types[0].dtype != DType::Float32) return false;
    const Value &x = node.operands[0], &mean = node.operands[1];
    const ir::Dims dims = names_(x.dims()), fewer = names_(source(mean).dims());
    return domain_of(fewer).size() < domain_of(dims).size() && lies_in_memory(x);
  }

  bool is_wanted(const Node& node) const {
    if (kept_.count(&node) != 0 || used_otherwise_.count(&node) != 0) return false;
    if (centers(node)) return true;
    const bool compares = def(node).lowering == ir::Lowering::Elementwise &&
                          node.operands.size() == 2 && node.types[0].dtype == DType::Bool &&
                          node.operands[0].dtype() != DType::Bool;
    if (!compares) return false;
    const auto is_small = [&](const Value& operand) {
      const Node& from = *source(operand).node;
      return is_scalar_constant(from.result()) || def(from).lowering == ir::Lowering::Reduce;
    };
    const Value &left = node.operands[0], &right = node.operands[1];
    const bool fits = is_small(left) || is_small(right);
    return fits && (is_small(left) || lies_in_memory(left)) &&
           (is_small(right) || lies_in_memory(right));
  }

  const SizeNames& names_;
  const FuseOptions& options_;
  std::unordered_set<const Node*> kept_;  // lie in memory in any case: windows read them there
  std::unordered_set<const Node*> used_otherwise_;  // than at points
  std::unordered_set<const Node*> added_up_, used_by_others_;  // by folds that overlap, by others
};

}  // namespace

std::unordered_set<const Node*> recomputed_nodes(const std::vector<const Node*>& order,
                                                 const std::vector<Value>& results,
                                                 const SizeNames& names,
                                                 const FuseOptions& options) {
  return Search(results, names, options).run(order);
}

}  // namespace kiln::codegen
