// A part reads rows that the host cuts out (runtime/host/shard_functions.h), with the types of the
// whole tensors: the sizes of a part are those of its own program's inputs.
#include "runtime/distributed/shards.h"

#include "core/ir/location.h"
#include "core/ir/traverse.h"
#include "core/k/base/call.h"
#include "core/ops/build.h"
#include "core/ops/halves.h"
#include "core/ops/lambda_builder.h"
#include "core/ops/rewrite_graph.h"
#include "core/ops/shard_payload.h"
#include "core/types/text.h"

#include <string>
#include <utility>

namespace kiln::runtime::distributed {
namespace {

using ir::Op;
using ir::Value;

ir::NodeRef call_host(const char* function, std::string payload, std::vector<Value> operands,
                      std::vector<ir::Type> results) {
  return ir::make_node(
      Op::HostCall,
      ir::HostCallAttrs{
          .function = function, .payload = std::move(payload), .results = std::move(results)},
      std::move(operands));
}

ir::Replacements rows_of_part(const Shards& shards, std::int64_t part) {
  std::vector<Value> operands{ir::scalar_constant_int(DType::Int64, 0)};
  std::vector<ir::Type> types;
  for (const Value& value : shards.split) {
    operands.push_back(value);
    types.push_back(value.type());
  }
  const ir::NodeRef rows = call_host("shard", ir::encode(ir::ShardPayload{part, shards.per_rank()}),
                                     std::move(operands), std::move(types));
  ir::Replacements replacements;
  for (std::uint32_t i = 0; i < shards.split.size(); ++i) {
    replacements.emplace(shards.split[i], Value{rows, i});
  }
  return replacements;
}

/// The values with random draws of their own for part `number` of `count`.
std::vector<Value> with_draws(const std::vector<Value>& values, std::int64_t number,
                              std::int64_t count) {
  return ir::rewrite_nodes(values, [&](const ir::NodeRef& node) {
    const ir::NodeRef inner = ir::change_lambdas(node, [&](const std::vector<Value>& results) {
      return with_draws(results, number, count);
    });
    if (inner->op != Op::RandomUniform) return ir::results_of(inner);
    const Value position = inner->operands[0] * ir::scalar_constant_int(DType::Int64, count) +
                           ir::scalar_constant_int(DType::Int64, number);
    return ir::results_of(ir::with_operands(*inner, {position}));
  });
}

/// Parts run by themselves, without the other ranks.
void require_no_collective(const std::vector<Value>& values) {
  for (const ir::Node* node : ir::topological_order(values)) {
    if (node->op != Op::Collective) continue;
    const ir::Origin& origin = node->origin;
    Call::not_implemented("shards", text("a part of shards depends on a collective, ",
                                         origin.function, ir::location_suffix(origin)));
  }
}

Value tree_sum(const std::vector<Value>& leaves, std::size_t begin, std::size_t count) {
  if (count == 1) return leaves[begin];
  return tree_sum(leaves, begin, count / 2) + tree_sum(leaves, begin + count / 2, count / 2);
}

}  // namespace

std::vector<Value> sums_of_shards(
    const Shards& shards, const std::function<std::vector<Value>(const OfPart&)>& values_of) {
  std::vector<std::vector<Value>> leaves;  // of each value
  Value position = ir::scalar_constant_int(DType::Int64, 0);
  for (std::int64_t part = 0; part < shards.per_rank(); ++part) {
    const ir::Replacements rows = rows_of_part(shards, part);
    const std::int64_t number = shards.rank * shards.per_rank() + part;
    std::vector<Value> values = values_of([&](const Value& value) {
      const std::vector<Value> replaced = ir::replace_values({&value, 1}, rows);
      if (replaced[0] == value) {
        // Sizes alone would be those of all rows: parts share the symbols of the whole.
        Call::value_error("shards", "the value of a part reads no placeholder of shards.split");
      }
      return with_draws(replaced, number, shards.count)[0];
    });
    require_no_collective(values);
    std::vector<ir::Type> types;
    for (const Value& value : values) types.push_back(value.type());
    types.push_back(position.type());
    values.insert(values.begin(), position);
    const ir::NodeRef results = call_host("shard_results", "", values, std::move(types));
    leaves.resize(values.size() - 1);
    for (std::uint32_t i = 0; i < leaves.size(); ++i) {
      leaves[i].push_back(ir::widened(Value{results, i}));
    }
    position = {results, static_cast<std::uint32_t>(leaves.size())};
  }
  std::vector<Value> sums;
  for (const std::vector<Value>& parts : leaves) sums.push_back(tree_sum(parts, 0, parts.size()));
  return sums;
}

}  // namespace kiln::runtime::distributed
