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

/// Nodes that are recomputed for one value: far less work than loading it.
constexpr std::size_t kMaxRecomputed = 12;

bool is_scalar_constant(const Value& value) {
  return value.node->op == Op::Constant && value.rank() == 0;
}

class Search {
 public:
  Search(const std::vector<Value>& results, const SizeNames& names, const FuseOptions& options,
         const Phases& phases)
      : names_(names), options_(options), phases_(phases) {
    for (const Value& result : results) keep(result);
  }

  std::unordered_set<const Node*> run(const std::vector<const Node*>& order) {
    for (const Node* node : order) note_uses(*node);
    std::unordered_set<const Node*> found;
    for (const Node* node : order) {
      if (is_wanted(*node) || is_for_windows(*node)) found.insert(node);
    }
    for (const Node* node : order) {
      const std::optional<Inputs> inputs = inputs_of_recomputed(*node, found);
      if (inputs) found.insert(inputs->recomputed.begin(), inputs->recomputed.end());
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

  using Nodes = std::unordered_set<const Node*>;

  void note_uses(const Node& node) {
    for (const Value& operand : node.operands) users_[operand.node.get()].push_back(&node);
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

  // ---- values of an earlier phase ----

  bool is_elementwise(const Node& node) const {
    return def(node).lowering == ir::Lowering::Elementwise && !is_leaf(node) && !is_alias(node);
  }

  /// Large tensors that are read where a value is computed, and the nodes on the way.
  struct Inputs {
    Nodes tensors, recomputed;
  };

  /// Adds the inputs of `value` at the points of `domain`; false: some of them have to be stored.
  /// `enters(node)`: whether the node is computed where it is used.
  template <class Enters>
  bool add_inputs(const Value& value, const ir::Dims& domain, const Enters& enters,
                  Inputs& inputs) const {
    const Node& node = *source(value).node;
    if (domain_of(names_(source(value).dims())).size() < domain.size()) return true;
    if (lies_in_memory(value)) {
      inputs.tensors.insert(&node);
      return true;
    }
    if (inputs.recomputed.count(&node) != 0) return true;
    const bool is_direct = value.node.get() == &node && is_elementwise(node);
    if (!is_direct || !enters(node) || inputs.recomputed.size() == kMaxRecomputed) return false;
    inputs.recomputed.insert(&node);
    bool known = true;
    for (const Value& operand : node.operands) {
      if (!add_inputs(operand, domain, enters, inputs)) known = false;
    }
    return known;
  }

  /// The large tensors that a user reads beside the value of `node`, but stored values.
  Nodes other_inputs(const Node& user, const Node& node, const Nodes& found) const {
    const ir::Dims domain = domain_of(names_(user.types[0].dims));
    const auto enters = [&](const Node& inner) {
      return &inner != &node && (phases_.of(inner) == phases_.of(user) || found.count(&inner) != 0);
    };
    Inputs inputs;
    for (const Value& operand : user.operands) add_inputs(operand, domain, enters, inputs);
    return inputs.tensors;
  }

  /// Nothing unless users of a later phase compute the node from at most one large tensor more than
  /// they read anyway: that tensor is loaded instead of the value, which is not stored.
  std::optional<Inputs> inputs_of_recomputed(const Node& node, const Nodes& found) const {
    const auto users = users_.find(&node);
    if (users == users_.end() || !is_elementwise(node)) return std::nullopt;
    const auto is_later = [&](const Node* user) {
      return is_elementwise(*user) && phases_.of(*user) > phases_.of(node);
    };
    if (std::none_of(users->second.begin(), users->second.end(), is_later)) return std::nullopt;
    const auto is_cheap = [&](const Node& inner) {
      return !def(inner).expensive && used_otherwise_.count(&inner) == 0;
    };
    Inputs inputs;
    const Value value = node.result();
    if (!add_inputs(value, domain_of(names_(value.dims())), is_cheap, inputs)) return std::nullopt;
    const bool pays = std::all_of(
        users->second.begin(), users->second.end(), [&](const Node* user) {
          if (!is_later(user)) return true;
          const Nodes others = other_inputs(*user, node, found);
          return std::count_if(inputs.tensors.begin(), inputs.tensors.end(), [&](const Node* from) {
                   return others.count(from) == 0;
                 }) <= 1;
        });
    return pays ? std::optional(inputs) : std::nullopt;
  }

  const SizeNames& names_;
  const FuseOptions& options_;
  const Phases& phases_;
  std::unordered_map<const Node*, std::vector<const Node*>> users_;
  std::unordered_set<const Node*> kept_;  // lie in memory in any case: windows read them there
  std::unordered_set<const Node*> used_otherwise_;  // than at points
  std::unordered_set<const Node*> added_up_, used_by_others_;  // by folds that overlap, by others
};

}  // namespace

std::unordered_set<const Node*> recomputed_nodes(const std::vector<const Node*>& order,
                                                 const std::vector<Value>& results,
                                                 const SizeNames& names,
                                                 const FuseOptions& options,
                                                 const Phases& phases) {
  return Search(results, names, options, phases).run(order);
}

}  // namespace kiln::codegen
