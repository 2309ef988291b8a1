// Finds captures and substitutes values, without recursion: bodies may be as deep as graphs.
#include "core/ops/lambda_builder.h"

#include "core/ir/node_map.h"
#include "core/ir/symbol_source.h"
#include "core/ir/traverse.h"
#include "core/ir/unique_guards.h"
#include "core/ops/build.h"
#include "core/ops/pinned.h"
#include "core/ops/rewrite_graph.h"

#include <algorithm>
#include <atomic>
#include <unordered_set>
#include <utility>

namespace kiln::ir {
namespace {

/// The position of the innermost body; null outside of bodies. A pointer: the first use of a
/// thread_local with a destructor allocates, and glibc aborts if that fails.
thread_local Value* t_position = nullptr;

Value parameter(std::int64_t index, std::int64_t scope, const Type& type) {
  return make(Op::Parameter, ParameterAttrs{.index = index, .scope = scope, .type = type}, {});
}

/// Whether the node is rematerialised in the lambda rather than captured: constants, dims, and
/// broadcasts, which are index maps.
bool is_repeated_inside(const Node& node) {
  if (node.op == Op::Broadcast) return guards_of(node).empty();
  return node.op == Op::Constant || node.op == Op::DimSize;
}

bool is_argument(const Node& node) { return def(node).lowering == Lowering::Argument; }

/// Appends the captures of `results` to `captures` in order of first use: values of outside nodes
/// that inside nodes use.
void find_captures(const std::vector<Value>& results,
                   const std::function<bool(const Node&)>& is_inside,
                   std::vector<Value>& captures) {
  std::unordered_set<Value, ValueHash> seen(captures.begin(), captures.end());
  std::unordered_set<const Node*> visited;
  std::vector<const Node*> pending;
  const auto use = [&](const Value& value) {
    if (is_inside(*value.node)) {
      if (visited.insert(value.node.get()).second) pending.push_back(value.node.get());
    } else if (seen.insert(value).second) {
      captures.push_back(value);
    }
  };
  for (const Value& result : results) use(result);
  for (std::size_t next = 0; next < pending.size(); ++next) {
    for (const Value& operand : pending[next]->operands) use(operand);
  }
}

/// Rebuilds nodes in topological order with operands mapped.
class Rebuilder {
 public:
  explicit Rebuilder(const Replacements& replacements) : replacements_(replacements) {}

  void run(std::span<const Node* const> order) {
    for (const Node* node : order) visit(*node);
  }

  Value operator()(const Value& value) const {
    if (!value) return value;
    if (const auto found = replacements_.find(value); found != replacements_.end()) {
      return found->second;
    }
    const auto rebuilt = rebuilt_.find(value.node.get());
    return rebuilt == rebuilt_.end() ? value : Value{rebuilt->second, value.index};
  }

 private:
  void visit(const Node& node) {
    bool changed = false;
    std::vector<Value> operands;
    operands.reserve(node.operands.size());
    for (const Value& operand : node.operands) {
      operands.push_back((*this)(operand));
      changed = changed || !(operands.back() == operand);
    }
    if (changed) rebuilt_.emplace(&node, with_operands(node, std::move(operands)));
  }

  const Replacements& replacements_;
  std::unordered_map<const Node*, NodeRef> rebuilt_;
};

/// Whether the node is a host call that determines dims. Such a call runs before the partition of
/// the graph that uses the dims, hence outside of lambdas.
bool determines_dims(const Node& node) {
  return node.op == Op::HostCall && !data_dependent_symbols(node).empty();
}

/// Whether a node of the body that does not depend on its parameters must stay in the body.
bool stays_inside(const Node& node, const CapturePolicy& policy) {
  if (is_argument(node) || determines_dims(node)) return false;
  return policy.always_runs ? def(node).reads_state : is_pinned(node);
}

/// The nodes of `order` that depend on a parameter of `scope`, or that `policy` keeps inside.
std::unordered_set<const Node*> inside_nodes(std::span<const Node* const> order, std::int64_t scope,
                                             const CapturePolicy& policy) {
  std::unordered_set<const Node*> dependent, inside;
  const auto depends_on = [](const Node& node, const std::unordered_set<const Node*>& nodes) {
    return std::any_of(node.operands.begin(), node.operands.end(),
                       [&](const Value& operand) { return nodes.count(operand.node.get()) != 0; });
  };
  for (const Node* node : order) {
    const bool own = node->op == Op::Parameter && node->as<ParameterAttrs>().scope == scope;
    if (own || depends_on(*node, dependent)) {
      dependent.insert(node);
      inside.insert(node);
      continue;
    }
    if (!policy.is_created_inside) continue;
    if (!depends_on(*node, inside) && !stays_inside(*node, policy)) continue;
    if (policy.is_created_inside(*node)) inside.insert(node);
  }
  return inside;
}

/// The lambda of `results` over parameters of scope 0 in place of `parameters`.
std::shared_ptr<const Lambda> make_lambda(const std::vector<Value>& results,
                                          const std::vector<Value>& parameters,
                                          std::vector<Guard> guards, bool collects_guards) {
  auto lambda = std::make_shared<Lambda>();
  Replacements replacements;
  for (const Value& value : parameters) {
    const auto index = static_cast<std::int64_t>(lambda->parameters.size());
    lambda->parameters.push_back(value.type());
    replacements.emplace(value, parameter(index, 0, value.type()));
  }
  lambda->results = replace_values(results, replacements);
  lambda->guards = std::move(guards);
  if (collects_guards) add_guards(lambda->guards, collect_guards(lambda->results));
  return lambda;
}

}  // namespace

CapturePolicy capture_policy(const Trace& trace, const Dim& length) {
  return {.is_created_inside = [&trace](const Node& node) { return trace.contains(node); },
          .is_outside =
              [&trace](const Value& value) {
                return !value.node->is_open && !trace.contains(*value.node);
              },
          .always_runs = has_step(length)};
}

LambdaBuilder::LambdaBuilder(std::vector<Type> parameter_types) {
  static std::atomic<std::int64_t> next{1};
  scope_ = next.fetch_add(1, std::memory_order_relaxed);
  for (const Type& type : parameter_types) {
    parameters_.push_back(parameter(static_cast<std::int64_t>(parameters_.size()), scope_, type));
  }
}

Closure LambdaBuilder::close(const std::vector<Value>& results, std::size_t capture_position,
                             const CapturePolicy& policy) const {
  const auto inside = inside_nodes(topological_order(results, policy.is_outside), scope_, policy);
  Closure closure;
  const auto is_inside = [&](const Node& node) {
    return inside.count(&node) != 0 || is_repeated_inside(node);
  };
  find_captures(results, is_inside, closure.captures);

  std::vector<Value> all = parameters_;
  all.insert(all.begin() + static_cast<std::ptrdiff_t>(capture_position), closure.captures.begin(),
             closure.captures.end());
  closure.lambda = make_lambda(results, all, policy.guards, policy.collects_guards);
  return closure;
}

std::shared_ptr<const Lambda> LambdaBuilder::close_without_captures(
    const std::vector<Value>& results, const std::vector<Guard>& guards) const {
  return make_lambda(results, parameters_, guards, /*collects_guards=*/true);
}

namespace {

NodeRef make_loop(Op op, const Closure& body, const std::vector<Value>& carry,
                  const std::vector<Value>& xs, const Dim& length, bool reverse) {
  std::vector<Value> operands = body.captures;
  operands.insert(operands.end(), carry.begin(), carry.end());
  operands.insert(operands.end(), xs.begin(), xs.end());
  return make_node(op,
                   ScanAttrs{.body = {body.lambda},
                             .consts = static_cast<std::int64_t>(body.captures.size()),
                             .carry = static_cast<std::int64_t>(carry.size()),
                             .xs = static_cast<std::int64_t>(xs.size()),
                             .length = length,
                             .reverse = reverse},
                   std::move(operands));
}

}  // namespace

NodeRef make_scan(const Closure& body, const std::vector<Value>& carry,
                  const std::vector<Value>& xs, const Dim& length, bool reverse) {
  return make_loop(Op::Scan, body, carry, xs, length, reverse);
}

NodeRef make_scan(const TracedBody& body, const std::vector<Value>& carry,
                  const std::vector<Value>& xs, const Dim& length, bool reverse) {
  const Closure closure =
      body.builder.close(body.results, kAfterStepNumber, capture_policy(body.trace, length));
  return make_scan(closure, carry, xs, length, reverse);
}

NodeRef make_while(const TracedBody& body, const std::vector<Value>& carry, const Dim& length) {
  // Not even the first step is sure to begin.
  const CapturePolicy policy = capture_policy(body.trace, /*length=*/0);
  const Closure closure = body.builder.close(body.results, kAfterStepNumber, policy);
  return make_loop(Op::While, closure, carry, {}, length, /*reverse=*/false);
}

BranchClosures close_branches(const std::vector<Value>& then_results, const Trace& then_trace,
                              const std::vector<Value>& else_results, const Trace& else_trace) {
  BranchClosures closures;
  const auto is_inside = [](const Trace& trace) {
    return [&trace](const Node& node) {
      if (is_repeated_inside(node)) return true;
      return trace.contains(node) && !is_argument(node) && !determines_dims(node);
    };
  };
  find_captures(then_results, is_inside(then_trace), closures.captures);
  find_captures(else_results, is_inside(else_trace), closures.captures);
  closures.then_branch = make_lambda(then_results, closures.captures, {}, /*collects_guards=*/true);
  closures.else_branch = make_lambda(else_results, closures.captures, {}, /*collects_guards=*/true);
  return closures;
}

std::function<bool(const Node&)> reached_from(std::vector<Value> values) {
  struct Reached {
    std::vector<Value> values;
    std::unordered_set<const Node*> nodes;
  };
  const auto reached = std::make_shared<Reached>(Reached{std::move(values), {}});
  return [reached](const Node& node) {
    if (reached->nodes.empty()) {
      for (const Node* one : topological_order(reached->values)) reached->nodes.insert(one);
    }
    return reached->nodes.count(&node) != 0;
  };
}

std::function<bool(const Value&)> one_of(std::span<const Value> values) {
  using Set = std::unordered_set<Value, ValueHash>;
  const auto set = std::make_shared<const Set>(values.begin(), values.end());
  return [set](const Value& value) { return set->count(value) != 0; };
}

std::vector<Value> inline_lambda(const Lambda& lambda, std::span<const Value> arguments) {
  Replacements replacements;
  for (std::size_t i = 0; i < lambda.parameters.size(); ++i) {
    replacements.emplace(parameter(static_cast<std::int64_t>(i), 0, lambda.parameters[i]),
                         arguments[i]);
  }
  return replace_values(lambda.results, replacements);
}

std::vector<Value> replace_values(std::span<const Value> roots, const Replacements& replacements) {
  // Nodes that depend on an open node are open: the walk ends at what is outside of the body.
  const bool are_open =
      std::all_of(replacements.begin(), replacements.end(),
                  [](const auto& replacement) { return replacement.first.node->is_open; });
  Rebuilder rebuild(replacements);
  rebuild.run(topological_order(roots, [&](const Value& value) {
    return replacements.count(value) != 0 || (are_open && !value.node->is_open);
  }));
  std::vector<Value> results;
  results.reserve(roots.size());
  for (const Value& root : roots) results.push_back(rebuild(root));
  return results;
}

std::vector<Value> replace_throughout(std::span<const Value> roots,
                                      const Replacements& replacements) {
  struct Entry {
    const Node* node;
    std::size_t next;
  };
  const auto target = [&](const Value& value) -> const Value& {
    const auto found = replacements.find(value);
    return found == replacements.end() ? value : found->second;
  };
  const auto ends = [&](const Value& value) {
    const auto found = replacements.find(value);
    return found != replacements.end() && found->second == value;
  };
  NodeMap<NodeRef> rebuilt;
  const auto mapped = [&](const std::vector<Value>& values) {
    std::vector<Value> results;
    results.reserve(values.size());
    for (const Value& value : values) {
      const Value& to = target(value);
      const NodeRef* node = to ? rebuilt.find(to.node.get()) : nullptr;
      results.push_back(node == nullptr || ends(value) ? to : Value{*node, to.index});
    }
    return results;
  };
  NodeSet seen;
  std::vector<Entry> stack;
  const auto enter = [&](const Value& value) {
    const Node* node = target(value).node.get();
    if (node == nullptr || ends(value) || !seen.insert(node)) return;
    stack.push_back({node, 0});
  };
  for (const Value& root : roots) {
    enter(root);
    while (!stack.empty()) {
      Entry& top = stack.back();
      if (top.next < top.node->operands.size()) {
        enter(top.node->operands[top.next++]);
        continue;
      }
      rebuilt.emplace(top.node, with_operands(*top.node, mapped(top.node->operands)));
      stack.pop_back();
    }
  }
  return mapped({roots.begin(), roots.end()});
}

Graph replace_values(const Graph& graph, const Replacements& replacements) {
  return with_roots(graph, replace_values(graph.roots(), replacements));
}

Value current_position() {
  return t_position != nullptr ? *t_position : scalar_constant_int(DType::Int64, 0);
}

PositionScope::PositionScope(const Value& step)
    : saved_(t_position != nullptr ? *t_position : Value()) {
  // An odd multiplier (Knuth's LCG) separates the positions of nested loops; int64 wraps.
  const Value outer = current_position() * scalar_constant_int(DType::Int64, 6364136223846793005);
  Value position = outer + step + scalar_constant_int(DType::Int64, 1);
  if (t_position == nullptr) t_position = new Value;
  *t_position = std::move(position);
}

PositionScope::~PositionScope() {
  *t_position = saved_;
  if (!saved_) delete std::exchange(t_position, nullptr);
}

}  // namespace kiln::ir
