// Compiles module bytes to an Interpretation: expands composites, then turns nodes into steps.
#include "backends/reference/inspect.h"

#include "core/ir/traverse.h"
#include "core/module/read.h"
#include "core/ops/make.h"
#include "core/ops/rewrite_graph.h"
#include "core/ops/table.h"

#include <algorithm>
#include <unordered_map>

namespace kiln::reference {
namespace {

using ir::Node;
using ir::Op;
using ir::Value;

struct Row {
  Op op;
  OpFunction function;
};

/// Functions of all ops except arguments, composites, and ops with a scalar meaning.
constexpr Row kFunctions[] = {
    {Op::Constant, run_constant},
    {Op::Iota, run_iota},
    {Op::RandomUniform, run_random},
    {Op::DimSize, run_dim_size},
    {Op::Cast, run_cast},
    {Op::Bitcast, run_bitcast},
    {Op::Sum, run_sum},
    {Op::Prod, run_prod},
    {Op::Max, run_max},
    {Op::Min, run_min},
    {Op::ArgMax, run_arg_max},
    {Op::CumSum, run_cum_sum},
    {Op::CumProd, run_cum_prod},
    {Op::Reshape, run_reshape},
    {Op::Permute, run_permute},
    {Op::Broadcast, run_broadcast},
    {Op::Slice, run_slice},
    {Op::Pad, run_pad},
    {Op::Reverse, run_reverse},
    {Op::Concat, run_concat},
    {Op::Gather, run_gather},
    {Op::ScatterAdd, run_scatter_add},
    {Op::Dot, run_dot},
    {Op::Scan, run_loop},
    {Op::While, run_loop},
    {Op::Cond, run_cond},
    {Op::Identity, run_identity},
    {Op::StopGradient, run_identity},
    {Op::HostCall, run_host_call},
    {Op::Window, run_window},
    {Op::Fold, run_fold},
};

constexpr bool runs(const ir::OpDef& d) {
  const bool argument = d.lowering == ir::Lowering::Argument;
  const bool expanded = d.lowering == ir::Lowering::Composite;
  return argument || expanded || ir::has_scalar_meaning(d) ||
         std::any_of(std::begin(kFunctions), std::end(kFunctions),
                     [&](const Row& row) { return row.op == d.op; });
}
static_assert(ir::every_op(runs), "an op has neither a function here nor a scalar meaning");

std::vector<Value> expanded(const std::vector<Value>& roots) {
  return ir::rewrite_nodes(roots, [](const ir::NodeRef& node) -> std::vector<Value> {
    const ir::NodeRef inner = ir::change_lambdas(node, expanded);
    const ir::OpDef& d = def(*inner);
    return d.expand ? d.expand(*inner, inner->operands) : ir::results_of(inner);
  });
}

class RegionBuilder {
 public:
  Region build(const std::vector<Value>& arguments, const std::vector<Value>& results) {
    const auto order = ir::topological_order(results);
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      // topological_order() omits arguments that no result depends on; they get slots here.
      slots_.emplace(arguments[i].node.get(), region_.slots);
      region_.parameters.emplace_back(i, region_.slots++);
    }
    for (const Node* node : order) add(*node);
    for (const Value& result : results) region_.results.push_back(slot(result));
    find_last_uses();
    return std::move(region_);
  }

  /// Builds the region of a lambda, whose parameters are Parameter nodes with an index.
  Region build(const ir::Lambda& lambda) {
    for (const Node* node : ir::topological_order(lambda.results)) {
      if (node->op != Op::Parameter) continue;
      slots_.emplace(node, region_.slots);
      const auto index = static_cast<std::size_t>(node->as<ir::ParameterAttrs>().index);
      region_.parameters.emplace_back(index, region_.slots++);
    }
    region_.guards = lambda.guards;
    return build({}, lambda.results);
  }

 private:
  std::size_t slot(const Value& value) const { return slots_.at(value.node.get()) + value.index; }

  void add(const Node& node) {
    if (slots_.count(&node) != 0) return;
    Step step;
    step.node = &node;
    step.function = function_of(node);
    for (const Value& operand : node.operands) step.operands.push_back(slot(operand));
    ir::for_each_lambda(node, [&](const ir::Lambda& lambda) {
      step.bodies.push_back(RegionBuilder().build(lambda));
    });
    step.first_result = region_.slots;
    slots_.emplace(&node, region_.slots);
    region_.slots += node.types.size();
    region_.steps.push_back(std::move(step));
  }

  void find_last_uses() {
    std::vector<bool> used(region_.slots, false);
    for (std::size_t result : region_.results) used[result] = true;
    for (auto step = region_.steps.rbegin(); step != region_.steps.rend(); ++step) {
      for (std::size_t operand : step->operands) {
        if (used[operand]) continue;
        used[operand] = true;
        step->last_uses.push_back(operand);
      }
    }
  }

  Region region_;
  std::unordered_map<const Node*, std::size_t> slots_;
};

}  // namespace

OpFunction function_of(const Node& node) {
  for (const Row& row : kFunctions) {
    if (row.op == node.op) return row.function;
  }
  return ir::has_scalar_meaning(def(node)) ? run_elementwise : nullptr;
}

Interpretation compile(sdk::Bytes bytes, const std::vector<sdk::Bytes>& constants,
                       CompileTimes& times) {
  Clock::time_point start = Clock::now();
  const auto lap = [&](const char* part) {
    times.emplace_back(part, seconds_since(start));
    start = Clock::now();
  };
  std::vector<module::SideConstant> side;
  for (const sdk::Bytes& constant : constants) side.push_back({constant.data(), constant.size()});
  Interpretation interpretation;
  interpretation.module = module::read_module(bytes, side);
  lap("reading the module");
  interpretation.guards = ir::collect_guards(interpretation.module.graph.roots());
  interpretation.roots = expanded(interpretation.module.graph.roots());
  lap("expanding composites");
  std::vector<Value> arguments = interpretation.module.graph.inputs;
  for (const module::StateEntry& entry : interpretation.module.state) {
    arguments.push_back(entry.variable);
  }
  interpretation.region = RegionBuilder().build(arguments, interpretation.roots);
  lap("steps");
  return interpretation;
}

}  // namespace kiln::reference
