// Compares all pairs of scans at a level, and fuses those whose carries (or, without carries,
// inputs) coincide: above all the augmented forward loop of a gradient with the user's own.
#include "core/passes/scan_merge.h"

#include "core/ir/traverse.h"
#include "core/ops/rewrite_graph.h"
#include "core/passes/scan_parts.h"

#include <algorithm>
#include <unordered_set>

namespace kiln::passes {
namespace {

using ir::Node;
using ir::Value;

/// Numbers equivalence classes by key, in order of first appearance.
class Classes {
 public:
  std::size_t operator()(std::size_t before, const Value& value) {
    for (std::size_t i = 0; i < keys_.size(); ++i) {
      if (keys_[i].first == before && keys_[i].second == value) return i;
    }
    keys_.emplace_back(before, value);
    return keys_.size() - 1;
  }
  std::size_t count() const { return keys_.size(); }

 private:
  std::vector<std::pair<std::size_t, Value>> keys_;
};

/// Classes of carries of both loops that are equal at every step. Carries are in one class if they
/// have the same initial value and, with the carries of each class substituted for each other, the
/// same next value. Partition refinement (P. Kanellakis and S. Smolka, 1990) finds the coarsest
/// such partition: it starts with the classes of initial values and splits them until none changes.
struct CarryClasses {
  std::vector<std::size_t> of_a, of_b;

  CarryClasses(const ScanParts& a, const ScanParts& b, const ir::Replacements& shared) {
    Classes first;
    for (const Value& initial : a.initial) of_a.push_back(first(0, initial));
    for (const Value& initial : b.initial) of_b.push_back(first(0, initial));
    for (std::size_t count = 0, next = first.count(); count != next;) {
      count = next;
      next = refine(a, b, shared, count);
    }
  }

 private:
  /// Splits the classes by next values; returns how many there are now.
  std::size_t refine(const ScanParts& a, const ScanParts& b, const ir::Replacements& shared,
                     std::size_t count) {
    std::vector<Value> members(count);  // the representative of each class
    ir::Replacements in_a, in_b = shared;
    for (std::size_t i = 0; i < of_a.size(); ++i) {
      Value& member = members[of_a[i]];
      if (!member) member = a.carry[i];
      in_a.emplace(a.carry[i], member);
    }
    for (std::size_t i = 0; i < of_b.size(); ++i) {
      Value& member = members[of_b[i]];
      if (!member) member = b.carry[i];
      in_b.emplace(b.carry[i], member);
    }
    const std::vector<Value> next_a = ir::replace_values(a.next, in_a);
    const std::vector<Value> next_b = ir::replace_values(b.next, in_b);
    Classes finer;
    for (std::size_t i = 0; i < of_a.size(); ++i) of_a[i] = finer(of_a[i], next_a[i]);
    for (std::size_t i = 0; i < of_b.size(); ++i) of_b[i] = finer(of_b[i], next_b[i]);
    return finer.count();
  }
};

/// For each carry of `b`, the carry of `a` that it always equals, if any.
std::vector<std::optional<std::size_t>> equal_carries(const ScanParts& a, const ScanParts& b,
                                                      const ir::Replacements& shared) {
  const CarryClasses classes(a, b, shared);
  std::vector<std::optional<std::size_t>> pairs(b.carry.size());
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const auto found = std::find(classes.of_a.begin(), classes.of_a.end(), classes.of_b[i]);
    if (found != classes.of_a.end()) {
      pairs[i] = static_cast<std::size_t>(found - classes.of_a.begin());
    }
  }
  return pairs;
}

struct MergedScans {
  ir::NodeRef scan;
  std::vector<Value> of_a, of_b;  // the results of both loops, from the new scan
};

/// Fuses two loops; nullopt if they share no carry (or, without carries, no input).
std::optional<MergedScans> merge(const Node& first, const Node& second) {
  const ScanParts a = unpack_scan(first), b = unpack_scan(second);
  ScanParts both = a;
  ir::add_guards(both.guards, b.guards);
  both.is_outer = [&](const Node& node) { return a.is_outer(node) || b.is_outer(node); };
  ir::Replacements map{{b.step, a.step}};
  bool share = a.carry.empty() && b.carry.empty();
  bool share_inputs = false;
  for (std::size_t i = 0; i < b.xs.size(); ++i) {
    share_inputs = share_inputs || std::find(a.xs.begin(), a.xs.end(), b.xs[i]) != a.xs.end();
    map.emplace(b.slices[i], both.add_input(b.xs[i]));
  }
  const auto pairs = equal_carries(a, b, map);
  for (const auto& pair : pairs) share = share || pair.has_value();
  if (!share || (a.carry.empty() && !share_inputs)) return std::nullopt;

  std::vector<std::size_t> carry_of_b;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    if (pairs[i]) {
      map.emplace(b.carry[i], a.carry[*pairs[i]]);
      carry_of_b.push_back(*pairs[i]);
      continue;
    }
    carry_of_b.push_back(both.carry.size());
    both.carry.push_back(b.carry[i]);
    both.initial.push_back(b.initial[i]);
  }
  const std::vector<Value> results = ir::replace_values(b.results(), map);
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    if (!pairs[i]) both.next.push_back(results[i]);
  }
  std::vector<std::size_t> y_of_b;
  for (std::size_t i = pairs.size(); i < results.size(); ++i) {
    const auto found = std::find(both.ys.begin(), both.ys.end(), results[i]);
    y_of_b.push_back(static_cast<std::size_t>(found - both.ys.begin()));
    if (found == both.ys.end()) both.ys.push_back(results[i]);
  }

  MergedScans merged;
  merged.scan = pack_scan(both);
  const auto result = [&](std::size_t i) {
    return Value{merged.scan, static_cast<std::uint32_t>(i)};
  };
  const std::size_t ys = both.carry.size();
  for (std::size_t i = 0; i < a.carry.size(); ++i) merged.of_a.push_back(result(i));
  for (std::size_t i = 0; i < a.ys.size(); ++i) merged.of_a.push_back(result(ys + i));
  for (std::size_t i : carry_of_b) merged.of_b.push_back(result(i));
  for (std::size_t i : y_of_b) merged.of_b.push_back(result(ys + i));
  return merged;
}

bool same_steps(const Node& a, const Node& b) {
  const auto& x = a.as<ir::ScanAttrs>();
  const auto& y = b.as<ir::ScanAttrs>();
  return x.length == y.length && x.reverse == y.reverse;
}

bool depends_on(const Node& user, const Node& used) {
  for (const Node* node : ir::topological_order(user.operands)) {
    if (node == &used) return true;
  }
  return false;
}

/// Replacements that merge the first pair possible at this level; empty if there is none.
ir::Replacements find_pair(const std::vector<Value>& roots) {
  std::vector<const Node*> scans;
  for (const Node* node : ir::topological_order(roots)) {
    if (node->op != ir::Op::Scan) continue;
    for (const Node* earlier : scans) {
      if (!same_steps(*earlier, *node) || depends_on(*node, *earlier)) continue;
      const ir::OriginScope scope(earlier->origin, /*replace=*/true);
      const auto merged = merge(*earlier, *node);
      if (!merged) continue;
      ir::Replacements map;
      for (std::uint32_t i = 0; i < earlier->types.size(); ++i) {
        map.emplace(earlier->result(i), merged->of_a[i]);
      }
      for (std::uint32_t i = 0; i < node->types.size(); ++i) {
        map.emplace(node->result(i), merged->of_b[i]);
      }
      return map;
    }
    scans.push_back(node);
  }
  return {};
}

std::vector<Value> merge_level(std::vector<Value> roots) {
  for (;;) {
    const ir::Replacements map = find_pair(roots);
    if (map.empty()) break;
    roots = ir::replace_values(roots, map);
  }
  return roots;
}

/// Merges inside lambdas first, so that loops with equal inner loops have equal bodies.
std::vector<Value> merge_everywhere(const std::vector<Value>& roots) {
  return merge_level(ir::rewrite_nodes(roots, [](const ir::NodeRef& node) {
    return ir::results_of(ir::change_lambdas(node, merge_everywhere));
  }));
}

}  // namespace

ir::Graph scan_merge(const ir::Graph& graph) {
  return ir::with_roots(graph, merge_everywhere(graph.roots()));
}

}  // namespace kiln::passes
