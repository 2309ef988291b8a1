// Taking a scan apart and putting it together hoists (scan_parts.h); before that, carries that
// never change become invariants.
#include "core/passes/scan_hoist_invariants.h"

#include "core/passes/scan_parts.h"

namespace kiln::passes {
namespace {

using ir::Value;

/// Carries whose next value is the carry itself are replaced by their initial value.
/// Returns which carries were removed.
std::vector<bool> remove_constant_carries(ScanParts& parts) {
  std::vector<bool> removed(parts.carry.size(), false);
  ir::Replacements map;
  for (std::size_t i = 0; i < parts.carry.size(); ++i) {
    if (!(parts.next[i] == parts.carry[i])) continue;
    removed[i] = true;
    map.emplace(parts.carry[i], parts.initial[i]);
  }
  if (map.empty()) return removed;
  const std::vector<Value> results = ir::replace_values(parts.results(), map);
  ScanParts kept = parts;
  kept.initial.clear();
  kept.carry.clear();
  kept.next.clear();
  for (std::size_t i = 0; i < removed.size(); ++i) {
    if (removed[i]) continue;
    kept.initial.push_back(parts.initial[i]);
    kept.carry.push_back(parts.carry[i]);
    kept.next.push_back(results[i]);
  }
  kept.ys.assign(results.begin() + static_cast<std::ptrdiff_t>(removed.size()), results.end());
  parts = std::move(kept);
  return removed;
}

std::optional<std::vector<Value>> hoist(const ir::Node& scan) {
  ScanParts parts = take_apart(scan);
  const std::vector<Value> initial = parts.initial;
  const std::vector<bool> removed = remove_constant_carries(parts);
  const ir::NodeRef made = put_together(parts);
  if (made.get() == &scan) return std::nullopt;
  std::vector<Value> results;
  std::uint32_t next = 0;
  for (std::size_t i = 0; i < removed.size(); ++i) {
    results.push_back(removed[i] ? initial[i] : Value{made, next++});
  }
  while (results.size() < scan.types.size()) results.push_back({made, next++});
  return results;
}

}  // namespace

ir::Graph scan_hoist_invariants(const ir::Graph& graph) { return change_scans(graph, hoist); }

}  // namespace kiln::passes
