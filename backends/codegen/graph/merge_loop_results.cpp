// The gradient of a loop often stacks one value under several shapes that only guards prove equal,
// such as the batch sizes of input and state.
#include "backends/codegen/graph/merge_loop_results.h"

#include "core/ir/lambda.h"
#include "core/ops/build.h"
#include "core/ops/rewrite_graph.h"

namespace kiln::codegen {
namespace {

using ir::NodeRef;
using ir::Op;
using ir::Value;

/// Whether a broadcast only asserts that sizes are equal: it adds and expands no axis.
bool keeps_shape(const ir::Node& node) {
  if (node.op != Op::Broadcast) return false;
  const ir::Dims &from = node.operands[0].dims(), &to = node.types[0].dims;
  if (from.size() != to.size()) return false;
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (from[i].is_one() && !to[i].is_one()) return false;
  }
  return true;
}

/// The first value of a chain of aliases and shape-keeping broadcasts: the same elements in the
/// same order.
struct Source {
  Value value;
  bool is_alias = true;  // the chain has no broadcast
};

Source source_of(const Value& value) {
  Source source{value};
  while (def(*source.value.node).alias || keeps_shape(*source.value.node)) {
    source.is_alias = source.is_alias && !keeps_shape(*source.value.node);
    const Value operand = source.value.node->operands[0];
    source.value = operand;
  }
  return source;
}

/// Replaces broadcasts that keep the shape by a reshape, which copies nothing.
Value without_broadcasts(const Value& value) {
  const Source source = source_of(value);
  return source.is_alias ? value : ir::reshape(source.value, value.dims());
}

/// For each stacked result of the body, the first one that stacks the same elements.
std::vector<std::size_t> first_of_equals(const ir::Lambda& body, std::size_t carries) {
  std::vector<std::size_t> first;
  std::unordered_map<Value, std::size_t, ir::ValueHash> known;
  for (std::size_t i = carries; i < body.results.size(); ++i) {
    first.push_back(known.emplace(source_of(body.results[i]).value, i).first->second);
  }
  return first;
}

std::vector<Value> merged(const NodeRef& scan) {
  const auto& attrs = scan->as<ir::ScanAttrs>();
  const auto carries = static_cast<std::size_t>(attrs.carry);
  ir::Lambda body = *attrs.body.lambda;
  for (Value& result : body.results) result = without_broadcasts(result);
  const std::vector<std::size_t> first = first_of_equals(body, carries);
  std::vector<Value> kept(body.results.begin(),
                          body.results.begin() + static_cast<std::ptrdiff_t>(carries));
  std::vector<std::uint32_t> new_number(body.results.size());
  for (std::size_t i = carries; i < body.results.size(); ++i) {
    if (first[i - carries] != i) continue;
    new_number[i] = static_cast<std::uint32_t>(kept.size());
    kept.push_back(body.results[i]);
  }
  if (kept.size() == body.results.size() && body.results == attrs.body->results) {
    return ir::results_of(scan);
  }
  const ir::OriginScope scope(scan->origin, /*replace=*/true);
  body.results = std::move(kept);
  ir::ScanAttrs fewer = attrs;
  fewer.body.lambda = std::make_shared<const ir::Lambda>(std::move(body));
  const NodeRef merged_scan = ir::make(Op::Scan, std::move(fewer), scan->operands).node;
  std::vector<Value> results;
  for (std::uint32_t i = 0; i < carries; ++i) results.push_back(merged_scan->result(i));
  for (std::size_t i = carries; i < carries + first.size(); ++i) {
    const Value stack = merged_scan->result(new_number[first[i - carries]]);
    results.push_back(ir::reshape(stack, scan->types[i].dims));
  }
  return results;
}

}  // namespace

std::vector<Value> merge_loop_results(const std::vector<Value>& results,
                                      const LibraryClaims* library) {
  const auto change = [](const NodeRef& node) {
    return node->op == Op::Scan ? merged(node) : ir::results_of(node);
  };
  return rewrite_everywhere(results, library, merge_loop_results, change);
}

}  // namespace kiln::codegen
