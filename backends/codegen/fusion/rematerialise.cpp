// is_materialised() is a prediction. An operand that turns out not to be in memory is stored for
// the rematerialised node, which costs time but not correctness.
#include "backends/codegen/fusion/rematerialise.h"

#include "backends/codegen/access/guarded_reads.h"
#include "backends/codegen/access/node_iteration_space.h"
#include "core/ops/halves.h"
#include "core/ops/op.h"

#include <algorithm>

namespace kiln::codegen {
namespace {

using ir::Node;
using ir::Op;
using ir::Value;

/// Upper bound on the nodes recomputed for one value, so that recomputing costs far less than a
/// load.
constexpr std::size_t kMaxRematerialised = 12;

bool is_scalar_constant(const Value& value) {
  return value.node->op == Op::Constant && value.rank() == 0;
}

/// Finds the nodes in two sweeps: cheap patterns first, then values that later users can recompute
/// from tensors which they read anyway. Later: in a later phase, or behind a library call.
class Search {
 public:
  Search(const std::vector<Value>& results, const SizeNames& names, const FuseOptions& options,
         const Phases& phases)
      : names_(names), options_(options), phases_(phases) {
    for (const Value& result : results) keep(result);
  }

  ir::NodeSet run(const std::vector<const Node*>& order) {
    for (const Node* node : order) note_uses(*node);
    ir::NodeSet found;
    for (const Node* node : order) {
      if (is_cheap_pattern(*node) || is_folded_select(*node) || is_widened_matrix(*node)) {
        found.insert(node);
      }
    }
    for (const Node* node : order) {
      const std::optional<Inputs> inputs = inputs_of_rematerialised(*node, found);
      if (!inputs) continue;
      for (const Node* each : inputs->rematerialised) found.insert(each);
    }
    return found;
  }

 private:
  /// Follows views and aliases.
  Value source(Value value) const {
    while (is_view(*value.node, names_) || is_alias(*value.node)) {
      const Value operand = value.node->operands[0];
      value = operand;
    }
    return value;
  }

  void keep(const Value& value) { kept_.insert(source(value).node.get()); }

  void note_uses(const Node& node) {
    int calls = 0;
    for (const Value& operand : node.operands) {
      const Node* from = operand.node.get();
      calls = std::max(calls, calls_.at(from) + (whole_.contains(from) ? 1 : 0));
    }
    calls_.emplace(&node, calls);
    for (const Value& operand : node.operands) users_[operand.node.get()].push_back(&node);
    const bool library = node.op == Op::Dot || node.op == Op::Conv;
    const bool whole = def(node).lowering == ir::Lowering::Control || node.op == Op::ScatterSub ||
                       is_attention(node) || (library && options_.claims(node));
    const bool at_points = def(node).lowering == ir::Lowering::Elementwise ||
                           def(node).lowering == ir::Lowering::Reduce;
    if (whole) {
      kept_.insert(&node);
      whole_.insert(&node);
    }
    for (const Value& operand : node.operands) {
      if (whole || node.op == Op::Window) keep(operand);
      if (!at_points) used_otherwise_.insert(operand.node.get());
    }
  }

  bool is_materialised(const Value& value) const {
    const Value from = source(value);
    return is_leaf(*from.node) || kept_.contains(from.node.get());
  }

  /// Whether a Fold is computed as a gather (access/guarded_reads.h): it reads each element of its
  /// operand once.
  bool is_gathered(const Node& node) const {
    return node.op == Op::Fold && !windows_tile(node, names_);
  }

  /// Whether only overlapping Folds read the node, cast or not.
  bool is_read_by_fold(const Node& node) const {
    const std::vector<const Node*>* users = users_.find(&node);
    const auto folds = [&](const Node* user) {
      return is_gathered(*user) || (user->op == Op::Cast && is_read_by_fold(*user));
    };
    return users && !kept_.contains(&node) && std::all_of(users->begin(), users->end(), folds);
  }
  /// A select, or a cast of one, that only overlapping Folds read.
  bool is_folded_select(const Node& node) const {
    const bool is_cast = node.op == Op::Cast && node.operands[0].node->op == Op::Select;
    return (node.op == Op::Select || is_cast) && is_read_by_fold(node);
  }

  /// Whether only matmuls that kernels compute read `value`, viewed or not, each of its `elements`
  /// once.
  bool is_multiplied_once(const Node& value, const ir::Dims& elements) const {
    const auto multiplies = [&](const Node* user) {
      if (is_view(*user, names_)) return is_multiplied_once(*user, elements);
      if (user->op != Op::Dot || options_.claims(*user)) return false;
      const ir::Dims points = iteration_space(*user, names_, /*dense=*/false).domain;
      return std::is_permutation(points.begin(), points.end(), elements.begin(), elements.end());
    };
    const std::vector<const Node*>* users = users_.find(&value);
    return users && !kept_.contains(&value) &&
           std::all_of(users->begin(), users->end(), multiplies);
  }
  /// A widening of 16-bit floats for matmuls with a vector.
  bool is_widened_matrix(const Node& node) const {
    return node.op == Op::Cast && node.types[0].dtype == DType::Float32 &&
           ir::is_half(node.operands[0].dtype()) && is_materialised(node.operands[0]) &&
           is_multiplied_once(node, domain_of(names_(node.types[0].dims)));
  }

  /// x - mean, where mean is broadcast to x.
  bool centers(const Node& node) const {
    if (node.op != Op::Sub || node.types[0].dtype != DType::Float32) return false;
    const Value &x = node.operands[0], &mean = node.operands[1];
    const ir::Dims dims = names_(x.dims()), fewer = names_(source(mean).dims());
    return domain_of(fewer).size() < domain_of(dims).size() && is_materialised(x);
  }

  /// x - mean, or a comparison of tensors in memory with a constant or the result of a reduction.
  bool is_cheap_pattern(const Node& node) const {
    if (kept_.contains(&node) || used_otherwise_.contains(&node)) return false;
    if (centers(node)) return true;
    const bool compares = def(node).lowering == ir::Lowering::Elementwise &&
                          node.operands.size() == 2 && node.types[0].dtype == DType::Bool &&
                          node.operands[0].dtype() != DType::Bool;
    if (!compares) return false;
    const auto is_small = [&](const Value& operand) {
      const Node* from = source(operand).node.get();
      // The maximum of a half is reduced in float32.
      if (from->op == Op::Cast) from = source(from->operands[0]).node.get();
      return is_scalar_constant(from->result()) || def(*from).lowering == ir::Lowering::Reduce;
    };
    const Value &left = node.operands[0], &right = node.operands[1];
    const bool fits = is_small(left) || is_small(right);
    return fits && (is_small(left) || is_materialised(left)) &&
           (is_small(right) || is_materialised(right));
  }

  // ---- values of earlier kernels ----

  bool is_elementwise(const Node& node) const {
    return def(node).lowering == ir::Lowering::Elementwise && !is_leaf(node) && !is_alias(node);
  }

  /// Whether `user` is computed in a later kernel than `node`, on which it depends.
  bool is_later(const Node& user, const Node& node) const {
    return phases_.of(user) > phases_.of(node) || calls_.at(&user) > calls_.at(&node);
  }
  bool is_expensive(const Node& node) const { return is_elementwise(node) && def(node).expensive; }

  /// Distinct nodes, for linear searches: at most kMaxRematerialised, or tensors that those read.
  using FewNodes = std::vector<const Node*>;

  static bool has(const FewNodes& nodes, const Node* node) {
    return std::find(nodes.begin(), nodes.end(), node) != nodes.end();
  }

  /// The large tensors that recomputing a value loads, and the nodes that it computes from them.
  struct Inputs {
    FewNodes tensors, rematerialised;
  };

  /// Adds the inputs of `value` at the points of `domain`; returns false when some of them would
  /// have to be stored first. `enters(node)`: whether the node may be recomputed; `loads(node)`:
  /// whether it is stored for that. Values of a lower rank than the domain are small and count as
  /// free.
  template <class Enters, class Loads>
  bool add_inputs(const Value& value, const ir::Dims& domain, const Enters& enters,
                  const Loads& loads, Inputs& inputs) const {
    const Node& node = *source(value).node;
    if (domain_of(names_(source(value).dims())).size() < domain.size()) return true;
    if (is_materialised(value) || loads(node)) {
      if (!has(inputs.tensors, &node)) inputs.tensors.push_back(&node);
      return true;
    }
    if (has(inputs.rematerialised, &node)) return true;
    const bool is_direct = value.node.get() == &node && is_elementwise(node);
    if (!is_direct || !enters(node) || inputs.rematerialised.size() == kMaxRematerialised) {
      return false;
    }
    inputs.rematerialised.push_back(&node);
    bool known = true;
    for (const Value& operand : node.operands) {
      if (!add_inputs(operand, domain, enters, loads, inputs)) known = false;
    }
    return known;
  }

  /// The large tensors in memory that a user of `node` loads for its other operands.
  FewNodes other_inputs(const Node& user, const Node& node, const ir::NodeSet& found) const {
    const ir::Dims domain = domain_of(names_(user.types[0].dims));
    const auto enters = [&](const Node& inner) {
      return &inner != &node && (!is_later(user, inner) || found.contains(&inner));
    };
    const auto loads = [&](const Node& inner) {
      return is_expensive(inner) && is_later(user, inner);
    };
    Inputs inputs;
    for (const Value& operand : user.operands) add_inputs(operand, domain, enters, loads, inputs);
    return inputs.tensors;
  }

  /// The inputs of `node`, if each later user can recompute it from at most one large tensor more
  /// than the user loads anyway. The user then loads that tensor instead of the value, and the
  /// store of the value is saved. An expensive value is such a tensor: of 1 + tanh(x) and 1 -
  /// tanh(x)^2, tanh(x) is stored.
  std::optional<Inputs> inputs_of_rematerialised(const Node& node, const ir::NodeSet& found) const {
    const std::vector<const Node*>* users = users_.find(&node);
    if (!users || !is_elementwise(node)) return std::nullopt;
    const auto recomputes = [&](const Node* user) {
      return is_elementwise(*user) && is_later(*user, node);
    };
    if (std::none_of(users->begin(), users->end(), recomputes)) return std::nullopt;
    const auto is_cheap = [&](const Node& inner) {
      return !def(inner).expensive && !used_otherwise_.contains(&inner);
    };
    const auto loads = [&](const Node& inner) { return &inner != &node && is_expensive(inner); };
    Inputs inputs;
    const Value value = node.result();
    if (!add_inputs(value, domain_of(names_(value.dims())), is_cheap, loads, inputs)) {
      return std::nullopt;
    }
    const bool pays = std::all_of(users->begin(), users->end(), [&](const Node* user) {
      if (!recomputes(user)) return true;
      const FewNodes others = other_inputs(*user, node, found);
      return std::count_if(inputs.tensors.begin(), inputs.tensors.end(),
                           [&](const Node* from) { return !has(others, from); }) <= 1;
    });
    return pays ? std::optional(inputs) : std::nullopt;
  }

  const SizeNames& names_;
  const FuseOptions& options_;
  const Phases& phases_;
  ir::NodeMap<std::vector<const Node*>> users_;
  ir::NodeMap<int> calls_;  // of libraries and loops, on the longest path to the node
  ir::NodeSet whole_;  // such calls
  ir::NodeSet kept_;  // materialised anyway: results, operands of windows, ..
  /// Used by nodes other than elementwise work and reductions.
  ir::NodeSet used_otherwise_;
};

}  // namespace

ir::NodeSet nodes_to_rematerialise(const std::vector<const Node*>& order,
                                   const std::vector<Value>& results, const SizeNames& names,
                                   const FuseOptions& options, const Phases& phases) {
  return Search(results, names, options, phases).run(order);
}

}  // namespace kiln::codegen
