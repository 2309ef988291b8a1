// Sweeps over a level, operands first, and adds each loop to the first group of loops that it can
// be merged with. Groups are packed after the sweep, so that users of a loop need no rewriting when
// another loop joins its group; until then equal results of a group have one name.
//
// A loop is compared only with groups that have an equal hash of a carry (or, without carries, an
// equal input). A level costs what its loops cost, and the carries of a group for each loop that
// joins it.
#include "core/passes/scan_merge.h"

#include "core/ir/node_map.h"
#include "core/ir/unique_guards.h"
#include "core/ops/rewrite_graph.h"
#include "core/passes/equal_carries.h"

#include <algorithm>
#include <set>

namespace kiln::passes {
namespace {

using ir::Node;
using ir::Value;

/// Loops that become one. The name of a result is that of the first loop in the group that has it.
struct Group {
  ir::NodeRef first;  // its first loop
  std::size_t loops = 1;  // how many
  std::vector<Value> operands;  // of all loops
  ScanParts parts;  // of the loop that they become
  std::vector<Value> carries, outputs;  // the names of the results of that loop
  std::unordered_map<Value, std::size_t, ir::ValueHash> output_of;  // by value in the body
  std::vector<bool> reached;  // groups that it is known to depend on; the others may be among them

  Group(const ir::NodeRef& scan, ScanParts unpacked)
      : first(scan), operands(scan->operands), parts(std::move(unpacked)) {
    const std::vector<Value> results = ir::results_of(scan);
    const auto middle = results.begin() + static_cast<std::ptrdiff_t>(parts.carry.size());
    carries.assign(results.begin(), middle);
    outputs.assign(middle, results.end());
    for (std::size_t i = 0; i < parts.ys.size(); ++i) output_of.emplace(parts.ys[i], i);
  }
};

/// The parameters of a loop that joins, and the parameters of the group with the same value.
struct SharedParameters {
  ir::Replacements map;
  bool has_input = false;
};

SharedParameters shared_parameters(const ScanParts& a, const ScanParts& b) {
  SharedParameters shared{.map = {{b.step, a.step}}};
  for (std::size_t i = 0; i < b.xs.size(); ++i) {
    const auto found = std::find(a.xs.begin(), a.xs.end(), b.xs[i]);
    if (found == a.xs.end()) continue;
    shared.has_input = true;
    shared.map.emplace(b.slices[i], a.slices[static_cast<std::size_t>(found - a.xs.begin())]);
  }
  return shared;
}

/// Whether two loops run over the same steps, and both or none have carries.
bool has_equal_steps(const ScanParts& a, const ScanParts& b) {
  return a.length == b.length && a.reverse == b.reverse && a.carry.empty() == b.carry.empty();
}

/// Adds a loop to a group, if they share a carry (or, without carries, an input): the names of its
/// results; nullopt if they do not. REQUIRES: has_equal_steps().
std::optional<std::vector<Value>> join(Group& group, const ir::NodeRef& scan, const ScanParts& b) {
  ScanParts& both = group.parts;
  auto [map, share] = shared_parameters(both, b);
  std::vector<std::optional<std::size_t>> pairs;
  if (!b.carry.empty()) {
    pairs = equal_carries(both, b, map);
    share = std::any_of(pairs.begin(), pairs.end(), [](const auto& pair) { return !!pair; });
  }
  if (!share) return std::nullopt;

  ++group.loops;
  group.operands.insert(group.operands.end(), scan->operands.begin(), scan->operands.end());
  both.consts.insert(both.consts.end(), b.consts.begin(), b.consts.end());
  ir::add_guards(both.guards, b.guards);
  for (std::size_t i = 0; i < b.xs.size(); ++i) {
    if (map.count(b.slices[i]) == 0) map.emplace(b.slices[i], both.add_input(b.xs[i]));
  }
  std::vector<Value> names;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    if (pairs[i]) {
      map.emplace(b.carry[i], both.carry[*pairs[i]]);
      names.push_back(group.carries[*pairs[i]]);
      continue;
    }
    both.carry.push_back(b.carry[i]);
    both.initial.push_back(b.initial[i]);
    names.push_back({scan, static_cast<std::uint32_t>(i)});
    group.carries.push_back(names.back());
  }
  const std::vector<Value> results = b.replaced(b.results(), map);
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    if (!pairs[i]) both.next.push_back(results[i]);
  }
  for (std::size_t i = pairs.size(); i < results.size(); ++i) {
    const auto [output, is_new] = group.output_of.emplace(results[i], both.ys.size());
    if (is_new) {
      both.ys.push_back(results[i]);
      group.outputs.push_back({scan, static_cast<std::uint32_t>(i)});
    }
    names.push_back(group.outputs[output->second]);
  }
  return names;
}

/// Hashes of which two loops that can be merged have one in common.
std::vector<std::size_t> hashes_of(const ScanParts& parts) {
  if (!parts.carry.empty()) return carry_hashes(parts);
  std::vector<std::size_t> hashes;
  for (const Value& x : parts.xs) hashes.push_back(ir::ValueHash()(x));
  return hashes;
}

/// One sweep over a level.
class Sweep {
 public:
  /// The roots with loops merged; nullopt if there are none to merge.
  std::optional<std::vector<Value>> run(const std::vector<Value>& roots) {
    const std::vector<Value> named = ir::rewrite_nodes(roots, [&](const ir::NodeRef& node) {
      return node->op == ir::Op::Scan ? add(node) : ir::results_of(node);
    });
    if (!has_merged_) return std::nullopt;
    return packed(named);
  }

 private:
  /// Adds a loop to a group, which may be a new one; returns the names of its results.
  std::vector<Value> add(const ir::NodeRef& scan) {
    if (const auto* known = names_.find(scan.get())) return *known;
    ScanParts parts = unpack_scan(*scan);
    const std::vector<std::size_t> hashes = hashes_of(parts);
    const std::vector<std::size_t> candidates = candidates_of(parts, hashes);
    const std::vector<bool> reached = reached_groups(*scan, candidates);
    for (const std::size_t candidate : candidates) {
      if (reached[candidate]) continue;
      if (auto names = join(groups_[candidate], scan, parts)) {
        has_merged_ = true;
        unite(groups_[candidate].reached, reached);
        return noted(scan, candidate, hashes, std::move(*names));
      }
    }
    groups_.emplace_back(scan, std::move(parts)).reached = reached;
    return noted(scan, groups_.size() - 1, hashes, ir::results_of(scan));
  }

  /// The groups that the loop may join, in ascending order.
  std::vector<std::size_t> candidates_of(const ScanParts& parts,
                                         const std::vector<std::size_t>& hashes) {
    std::vector<std::size_t> candidates;
    for (const std::size_t hash : hashes) {
      for (const std::size_t group : groups_with_[hash]) {
        if (has_equal_steps(groups_[group].parts, parts)) candidates.push_back(group);
      }
    }
    std::sort(candidates.begin(), candidates.end());
    candidates.erase(std::unique(candidates.begin(), candidates.end()), candidates.end());
    return candidates;
  }

  /// Which of the candidates the loop depends on. From the last to the first: what a group that
  /// the loop depends on depends on needs no walk, so that of a chain of loops each finds the one
  /// before it alone.
  std::vector<bool> reached_groups(const Node& scan,
                                   const std::vector<std::size_t>& candidates) const {
    std::vector<bool> reached(groups_.size(), false);
    for (auto candidate = candidates.rbegin(); candidate != candidates.rend(); ++candidate) {
      if (reached[*candidate] || !depends_on(scan, *candidate)) continue;
      reached[*candidate] = true;
      unite(reached, groups_[*candidate].reached);
    }
    return reached;
  }

  static void unite(std::vector<bool>& flags, const std::vector<bool>& more) {
    if (flags.size() < more.size()) flags.resize(more.size(), false);
    for (std::size_t i = 0; i < more.size(); ++i) {
      if (more[i]) flags[i] = true;
    }
  }

  std::vector<Value> noted(const ir::NodeRef& scan, std::size_t group,
                           const std::vector<std::size_t>& hashes, std::vector<Value> names) {
    for (const std::size_t hash : hashes) groups_with_[hash].insert(group);
    group_of_.emplace(scan.get(), group);
    loops_.push_back(scan);
    return *names_.emplace(scan.get(), std::move(names)).first;
  }

  /// The node that stands for the node: the first loop of its group.
  const Node* leader_of(const Node* node) const {
    const std::size_t* group = group_of_.find(node);
    return group == nullptr ? node : groups_[*group].first.get();
  }
  /// The operands that a leader depends on, of its whole group.
  const std::vector<Value>& operands_of(const Node* leader) const {
    const std::size_t* group = group_of_.find(leader);
    return group == nullptr ? leader->operands : groups_[*group].operands;
  }

  /// Whether the loop depends on a result of the group, also by way of merged loops.
  bool depends_on(const Node& scan, std::size_t group) const {
    const Node* const target = groups_[group].first.get();
    ir::NodeSet seen;  // what the group depends on does not depend on the group
    for (const Value& operand : groups_[group].operands) seen.insert(leader_of(operand.node.get()));
    std::vector<const Node*> pending;
    const auto visit = [&](const std::vector<Value>& operands) {
      for (const Value& operand : operands) {
        const Node* node = leader_of(operand.node.get());
        if (seen.insert(node)) pending.push_back(node);
      }
    };
    for (visit(scan.operands); !pending.empty();) {
      const Node* node = pending.back();
      if (node == target) return true;
      pending.pop_back();
      visit(operands_of(node));
    }
    return false;
  }

  /// The roots with each name replaced by the result of a packed loop.
  std::vector<Value> packed(const std::vector<Value>& roots) const {
    ir::Replacements map;
    for (const Group& group : groups_) {
      if (group.loops == 1) continue;
      const ir::OriginScope scope(group.first->origin, /*replace=*/true);
      ScanParts parts = group.parts;
      parts.is_outer = ir::reached_from(group.operands);
      const ir::NodeRef scan = pack_scan(parts);
      std::uint32_t next = 0;
      for (const Value& name : group.carries) map.emplace(name, Value{scan, next++});
      for (const Value& name : group.outputs) map.emplace(name, Value{scan, next++});
    }
    return ir::replace_throughout(roots, map);
  }

  std::vector<Group> groups_;
  std::unordered_map<std::size_t, std::set<std::size_t>> groups_with_;  // by hash
  ir::NodeMap<std::size_t> group_of_;  // of each loop
  ir::NodeMap<std::vector<Value>> names_;  // of the results of each loop
  std::vector<ir::NodeRef> loops_;  // keeps the keys above alive
  bool has_merged_ = false;
};

/// Merges inside lambdas first, so that loops with equal inner loops have equal bodies. Another
/// sweep finds groups that a loop of both connected.
std::vector<Value> merge_everywhere(const std::vector<Value>& roots) {
  std::vector<Value> merged = ir::rewrite_nodes(roots, [](const ir::NodeRef& node) {
    return ir::results_of(ir::change_lambdas(node, merge_everywhere));
  });
  while (auto next = Sweep().run(merged)) merged = std::move(*next);
  return merged;
}

}  // namespace

ir::Graph scan_merge(const ir::Graph& graph) {
  return ir::with_roots(graph, merge_everywhere(graph.roots()));
}

}  // namespace kiln::passes
