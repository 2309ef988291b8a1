// Replaces carries that never change by their initial values; unpacking and packing the scan
// (scan_parts.h) then hoists all values that do not depend on the step.
#include "core/passes/scan_hoist_invariants.h"

#include "core/passes/scan_parts.h"

namespace kiln::passes {
namespace {

using ir::Value;

/// Replaces carries whose next value is the carry itself by their initial values. Returns which
/// carries were removed.
std::vector<bool> remove_constant_carries(ScanParts& parts) {
  std::vector<bool> removed(parts.carry.size(), false);
  ir::Replacements map;
  for (std::size_t i = 0; i < parts.carry.size(); ++i) {
    if (!(parts.next[i] == parts.carry[i])) continue;
    removed[i] = true;
    map.emplace(parts.carry[i], parts.initial[i]);
  }
  if (map.empty()) return removed;
  const std::vector<Value> results = parts.replaced(parts.results(), map);
  ScanParts rest = parts;
  rest.initial.clear();
  rest.carry.clear();
  rest.next.clear();
  for (std::size_t i = 0; i < removed.size(); ++i) {
    if (removed[i]) {
      rest.consts.push_back(parts.initial[i]);
      continue;
    }
    rest.initial.push_back(parts.initial[i]);
    rest.carry.push_back(parts.carry[i]);
    rest.next.push_back(results[i]);
  }
  rest.ys.assign(results.begin() + static_cast<std::ptrdiff_t>(removed.size()), results.end());
  parts = std::move(rest);
  return removed;
}

std::optional<std::vector<Value>> hoist(const ir::Node& scan) {
  ScanParts parts = unpack_scan(scan);
  const std::vector<Value> initial = parts.initial;
  const std::vector<bool> removed = remove_constant_carries(parts);
  const ir::NodeRef hoisted = pack_scan(parts);
  if (hoisted.get() == &scan) return std::nullopt;
  std::vector<Value> results;
  std::uint32_t next = 0;
  for (std::size_t i = 0; i < removed.size(); ++i) {
    results.push_back(removed[i] ? initial[i] : Value{hoisted, next++});
  }
  while (results.size() < scan.types.size()) results.push_back({hoisted, next++});
  return results;
}

}  // namespace

ir::Graph scan_hoist_invariants(const ir::Graph& graph) { return change_scans(graph, hoist); }

}  // namespace kiln::passes
