// Marks the results that are read, users first, then rebuilds without the others, operands first.
#include "core/passes/scan_drop_unused.h"

#include "core/ir/traverse.h"
#include "core/ops/rewrite_graph.h"
#include "core/passes/scan_parts.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

namespace kiln::passes {
namespace {

using ir::Node;
using ir::Value;

using NodeSet = std::unordered_set<const Node*>;

/// The live parts of a scan, given which of its results are read.
struct LiveParts {
  std::vector<bool> carries, ys, xs;
};

LiveParts find_live(const ScanParts& parts, const std::vector<bool>& read) {
  LiveParts live;
  const std::size_t carries = parts.next.size();
  live.carries.assign(read.begin(), read.begin() + static_cast<std::ptrdiff_t>(carries));
  live.ys.assign(read.begin() + static_cast<std::ptrdiff_t>(carries), read.end());
  std::unordered_map<const Node*, std::size_t> carry_of;
  for (std::size_t i = 0; i < carries; ++i) carry_of.emplace(parts.carry[i].node.get(), i);
  NodeSet reached;
  std::vector<Value> pending;
  for (std::size_t i = 0; i < carries; ++i) {
    if (live.carries[i]) pending.push_back(parts.next[i]);
  }
  for (std::size_t i = 0; i < parts.ys.size(); ++i) {
    if (live.ys[i]) pending.push_back(parts.ys[i]);
  }
  const std::unordered_set<Value, ir::ValueHash> ends(parts.consts.begin(), parts.consts.end());
  while (!pending.empty()) {
    const Value value = pending.back();
    pending.pop_back();
    if (ends.count(value) != 0 || !reached.insert(value.node.get()).second) continue;
    pending.insert(pending.end(), value.node->operands.begin(), value.node->operands.end());
    const auto carry = carry_of.find(value.node.get());
    if (carry == carry_of.end() || live.carries[carry->second]) continue;
    live.carries[carry->second] = true;
    pending.push_back(parts.next[carry->second]);
  }
  for (const Value& slice : parts.slices) {
    live.xs.push_back(reached.count(slice.node.get()) != 0);
  }
  return live;
}

bool all(const std::vector<bool>& flags) {
  return std::find(flags.begin(), flags.end(), false) == flags.end();
}

template <class Item>
std::vector<Item> pick(const std::vector<Item>& items, const std::vector<bool>& flags) {
  std::vector<Item> picked;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (flags[i]) picked.push_back(items[i]);
  }
  return picked;
}

/// The results of the trimmed scan at their old positions; empty for those that are not read.
std::vector<Value> trimmed(const Node& scan, const std::vector<bool>& read) {
  ScanParts parts = unpack_scan(scan);
  const LiveParts live = find_live(parts, read);
  // Outputs that are the same value of the body are written once.
  std::vector<std::size_t> same_as(parts.ys.size());
  std::vector<bool> write = live.ys;
  std::unordered_map<Value, std::size_t, ir::ValueHash> first_of;
  for (std::size_t i = 0; i < parts.ys.size(); ++i) {
    same_as[i] = write[i] ? first_of.emplace(parts.ys[i], i).first->second : i;
    write[i] = write[i] && same_as[i] == i;
  }
  if (all(live.carries) && all(write) && all(live.xs)) return ir::results_of(scan);
  ScanParts rest = parts;
  rest.initial = pick(parts.initial, live.carries);
  rest.carry = pick(parts.carry, live.carries);
  rest.next = pick(parts.next, live.carries);
  rest.ys = pick(parts.ys, write);
  rest.xs = pick(parts.xs, live.xs);
  rest.slices = pick(parts.slices, live.xs);
  const ir::OriginScope scope(scan.origin, /*replace=*/true);
  const ir::NodeRef trimmed_scan = pack_scan(rest);
  std::vector<Value> results;
  std::uint32_t next = 0;
  for (bool keep : live.carries) results.push_back(keep ? Value{trimmed_scan, next++} : Value{});
  const std::size_t first = results.size();
  for (std::size_t i = 0; i < parts.ys.size(); ++i) {
    results.push_back(write[i] ? Value{trimmed_scan, next++} : Value{});
  }
  for (std::size_t i = 0; i < parts.ys.size(); ++i) {
    if (live.ys[i]) results[first + i] = results[first + same_as[i]];
  }
  return results;
}

/// One level of nesting.
class Dropper {
 public:
  std::vector<Value> run(const std::vector<Value>& roots) {
    const auto order = ir::topological_order(roots);
    std::unordered_map<const Node*, std::vector<bool>> read;
    const auto mark = [&](const Value& value) {
      std::vector<bool>& flags = read[value.node.get()];
      flags.resize(value.node->types.size(), false);
      flags[value.index] = true;
    };
    for (const Value& root : roots) mark(root);
    for (auto it = order.rbegin(); it != order.rend(); ++it) {
      if (read.count(*it) == 0) continue;
      for (const Value& operand : read_operands(**it, read.at(*it))) mark(operand);
    }
    return rebuild(order, read, roots);
  }

 private:
  static std::vector<Value> read_operands(const Node& node, const std::vector<bool>& read) {
    if (node.op != ir::Op::Scan || all(read)) return node.operands;
    for (const Value& result : trimmed(node, read)) {
      if (result) return result.node->operands;
    }
    return {};
  }

  std::vector<Value> rebuild(const std::vector<const Node*>& order,
                             const std::unordered_map<const Node*, std::vector<bool>>& read,
                             const std::vector<Value>& roots) {
    std::unordered_map<const Node*, std::vector<Value>> done;
    const auto mapped = [&](const Value& value) {
      const auto found = done.find(value.node.get());
      return found == done.end() ? value : found->second[value.index];
    };
    for (const Node* node : order) {
      if (read.count(node) == 0) continue;
      std::vector<Value> results =
          node->op == ir::Op::Scan ? trimmed(*node, read.at(node)) : ir::results_of(*node);
      ir::NodeRef rebuilt;  // the one node of all results
      for (Value& result : results) {
        if (!result) continue;
        if (!rebuilt) rebuilt = rebuild_node(*result.node, mapped);
        result.node = rebuilt;
      }
      done.emplace(node, std::move(results));
    }
    std::vector<Value> results;
    for (const Value& root : roots) results.push_back(mapped(root));
    return results;
  }

  template <class Mapped>
  ir::NodeRef rebuild_node(const Node& node, const Mapped& mapped) {
    std::vector<Value> operands;
    for (const Value& operand : node.operands) operands.push_back(mapped(operand));
    return ir::change_lambdas(with_operands(node, std::move(operands)),
                              [&](const std::vector<Value>& inner) { return run(inner); });
  }
};

}  // namespace

ir::Graph scan_drop_unused(const ir::Graph& graph) {
  return ir::with_roots(graph, Dropper().run(graph.roots()));
}

}  // namespace kiln::passes
