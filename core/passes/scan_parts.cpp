// Unpacks and packs scans, and visits all scans of a graph, inner ones first.
#include "core/passes/scan_parts.h"

#include "core/ops/make.h"
#include "core/ops/pinned.h"
#include "core/ops/rewrite_graph.h"

#include <algorithm>

namespace kiln::passes {
namespace {

using ir::Node;
using ir::Value;

/// Recursion follows lambdas only.
std::vector<Value> change_level(std::span<const Value> roots, const ScanChange& change) {
  return ir::rewrite_nodes(roots, [&](const ir::NodeRef& node) {
    const ir::NodeRef inner = ir::change_lambdas(
        node, [&](const std::vector<Value>& results) { return change_level(results, change); });
    if (inner->op != ir::Op::Scan) return ir::results_of(inner);
    auto changed = change(*inner);
    return changed ? std::move(*changed) : ir::results_of(inner);
  });
}

}  // namespace

std::vector<Value> ScanParts::parameters() const {
  std::vector<Value> all = carry;
  all.insert(all.end(), slices.begin(), slices.end());
  all.push_back(step);
  return all;
}

std::vector<Value> ScanParts::results() const {
  std::vector<Value> all = next;
  all.insert(all.end(), ys.begin(), ys.end());
  return all;
}

void ScanParts::set_results(const std::vector<Value>& results) {
  const auto middle = results.begin() + static_cast<std::ptrdiff_t>(next.size());
  ys.assign(middle, results.end());
  next.assign(results.begin(), middle);
}

std::vector<const Node*> ScanParts::order(std::span<const Value> roots,
                                          const ir::StopAt& stop) const {
  const auto is_const = ir::one_of(consts);
  return ir::topological_order(
      roots, [&](const Value& value) { return is_const(value) || (stop && stop(value)); });
}

std::vector<Value> ScanParts::replaced(std::span<const Value> roots, ir::Replacements map) const {
  for (const Value& value : consts) map.emplace(value, value);
  return ir::replace_values(roots, map);
}

std::vector<Value> ScanParts::replaced_throughout(std::span<const Value> roots,
                                                  ir::Replacements map) const {
  for (const Value& value : consts) map.emplace(value, value);
  return ir::replace_throughout(roots, map);
}

Value ScanParts::add_input(const Value& stacked) {
  for (std::size_t i = 0; i < xs.size(); ++i) {
    if (xs[i] == stacked) return slices[i];
  }
  xs.push_back(stacked);
  slices.push_back(fresh_parameter(slice_type(stacked.type())));
  return slices.back();
}

Value fresh_parameter(const ir::Type& type) { return ir::LambdaBuilder({type}).parameters()[0]; }

ir::Type slice_type(const ir::Type& stacked) {
  return {stacked.dtype, {stacked.dims.begin() + 1, stacked.dims.end()}};
}

ir::Type stacked_type(const ir::Type& slice, const ir::Dim& length) {
  ir::Type stacked = slice;
  stacked.dims.insert(stacked.dims.begin(), length);
  return stacked;
}

ScanParts unpack_scan(const Node& scan) {
  const auto& attrs = scan.as<ir::ScanAttrs>();
  ScanParts parts;
  parts.length = attrs.length;
  parts.reverse = attrs.reverse;
  parts.guards = attrs.body->guards;
  parts.is_outer = ir::reached_from(scan.operands);
  std::vector<Value> arguments;
  parts.step = fresh_parameter(attrs.body->parameters[0]);
  arguments.push_back(parts.step);
  for (std::size_t i = 0; i < scan.operands.size(); ++i) {
    const auto position = static_cast<std::int64_t>(i);
    const Value& operand = scan.operands[i];
    if (position < attrs.consts) {
      arguments.push_back(operand);
      parts.consts.push_back(operand);
      continue;
    }
    arguments.push_back(fresh_parameter(attrs.body->parameters[i + 1]));
    const bool is_carry = position < attrs.consts + attrs.carry;
    (is_carry ? parts.initial : parts.xs).push_back(operand);
    (is_carry ? parts.carry : parts.slices).push_back(arguments.back());
  }
  parts.next.resize(parts.carry.size());
  parts.set_results(ir::inline_lambda(*attrs.body, arguments));
  return parts;
}

ir::NodeRef pack_scan(const ScanParts& parts) {
  std::vector<ir::Type> types{parts.step.type()};
  for (const Value& value : parts.carry) types.push_back(value.type());
  for (const Value& value : parts.slices) types.push_back(value.type());
  const ir::LambdaBuilder builder(std::move(types));
  ir::Replacements map{{parts.step, builder.parameters()[0]}};
  std::size_t next = 1;
  for (const Value& value : parts.carry) map.emplace(value, builder.parameters()[next++]);
  for (const Value& value : parts.slices) map.emplace(value, builder.parameters()[next++]);
  const ir::CapturePolicy policy{
      .is_created_inside = [&](const Node& node) { return !parts.is_outer(node); },
      .is_outside = ir::one_of(parts.consts),
      .always_runs = parts.always_runs(),
      .guards = parts.guards,
      .collects_guards = false};
  const ir::Closure closure =
      builder.close(parts.replaced(parts.results(), std::move(map)), ir::kAfterStepNumber, policy);
  return ir::make_scan(closure, parts.initial, parts.xs, parts.length, parts.reverse);
}

StepDependence::StepDependence(const ScanParts& parts, const std::vector<Value>& parameters) {
  const std::vector<Value> roots = parts.results();
  for (const Value& parameter : parameters) depends_[parameter.node.get()] = true;
  for (const Node* node : parts.order(roots)) {
    bool depends = depends_.count(node) != 0 && depends_[node];
    for (const Value& operand : node->operands) {
      const auto found = depends_.find(operand.node.get());
      depends = depends || (found != depends_.end() && found->second);
    }
    depends_[node] = depends;
  }
}

bool StepDependence::operator()(const Value& value) const {
  const auto found = depends_.find(value.node.get());
  return found != depends_.end() && found->second;
}

PinnedNodes::PinnedNodes(const ScanParts& parts) {
  if (parts.always_runs()) return;
  const std::vector<Value> roots = parts.results();
  const StepDependence changes(parts, parts.parameters());
  for (const Node* node : parts.order(roots)) {
    if (node->op == ir::Op::Parameter) continue;
    if (changes(node->result())) {
      if (!ir::guards_of(*node).empty()) pinned_.insert(node);
      continue;
    }
    const bool on_pinned = std::any_of(node->operands.begin(), node->operands.end(),
                                       [&](const Value& operand) { return (*this)(operand); });
    if ((on_pinned || ir::is_pinned(*node)) && !parts.is_outer(*node)) pinned_.insert(node);
  }
}

ir::Graph change_scans(const ir::Graph& graph, const ScanChange& change) {
  return ir::with_roots(graph, change_level(graph.roots(), change));
}

}  // namespace kiln::passes
