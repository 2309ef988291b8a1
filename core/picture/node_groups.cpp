// Finds parts by the origins of nodes, and adds the groups of scopes when nodes need them.
#include "core/picture/node_groups.h"

#include "core/ir/traverse.h"
#include "core/picture/fold_repeats.h"
#include "core/picture/hoist_shared.h"
#include "core/picture/merge_chains.h"
#include "core/types/at.h"

#include <algorithm>
#include <set>

namespace kiln::picture {
namespace {

constexpr const char* kUpdates = "updates";

}  // namespace

NodeGroups::NodeGroups(Picture& picture, const ir::Graph& graph, OriginOf origin_of)
    : picture_(picture), origin_of_(std::move(origin_of)) {
  if (graph.outputs.empty() || graph.updates.empty()) return;
  for (const char* name : {"gradients", kUpdates}) {
    parts_.push_back(picture.add(Group{name, 0, Group::Kind::Part}));
  }
  std::set<OriginKey> origins;  // of nodes that outputs depend on
  for (const ir::Node* node : ir::topological_order(graph.outputs)) {
    for_outputs_.insert(node);
    if (origin_of_(*node).where.known()) origins.insert(key_of(origin_of_(*node)));
  }
  const std::vector<const ir::Node*> order = ir::topological_order(graph.roots());
  std::unordered_set<const ir::Node*> read;  // by updates and gradients
  for (auto one = order.rbegin(); one != order.rend(); ++one) {
    const ir::Node* const node = *one;
    if (for_outputs_.contains(node)) continue;
    const bool has_origin = origins.contains(key_of(origin_of_(*node)));
    if (has_origin && !read.contains(node)) continue;  // a moving average of a layer
    if (has_origin) gradients_.insert(node);
    for (const ir::Value& operand : node->operands) read.insert(operand.node.get());
  }
}

NodeGroups::OriginKey NodeGroups::key_of(const ir::Origin& origin) {
  return {origin.where.file, origin.where.line, origin.function, origin.scope};
}

int NodeGroups::group_of(const ir::Node& node) {
  int part = 0;
  if (!parts_.empty() && !for_outputs_.contains(&node)) {
    part = parts_[gradients_.contains(&node) ? 0 : 1];
  }
  return scope_group(origin_of_(node).scope, {part, nullptr});
}

int NodeGroups::group_of(const ir::Node& node, const BodyGroup& body) {
  return scope_group(origin_of_(node).scope, body);
}

int NodeGroups::scope_group(const ir::Scope* scope, const BodyGroup& outer) {
  std::vector<const ir::Scope*> missing;
  int group = outer.group;
  while (scope != nullptr && scope != outer.scope) {
    const auto found = scopes_.find({outer.group, scope});
    if (found != scopes_.end()) {
      group = found->second;
      break;
    }
    missing.push_back(scope);
    scope = scope->parent;
  }
  for (auto one = missing.rbegin(); one != missing.rend(); ++one) {
    group = picture_.add(Group{(*one)->name, group});
    scopes_.emplace(std::pair{outer.group, *one}, group);
  }
  return group;
}

int NodeGroups::part_of(int group) const {
  while (group != 0 && std::find(parts_.begin(), parts_.end(), group) == parts_.end()) {
    group = picture_.groups[at(group)].parent;
  }
  return group;
}

void NodeGroups::mark_remote() {
  for (Arrow& arrow : picture_.arrows) {
    const int from = part_of(picture_.boxes[at(arrow.from)].group);
    if (from != part_of(picture_.boxes[at(arrow.to)].group)) arrow.kind = Arrow::Kind::Remote;
  }
}

void shorten(Picture& picture) {
  merge_chains(picture);
  hoist_shared(picture);
  for (std::size_t g = 0; g < picture.groups.size(); ++g) {
    const Group& group = picture.groups[g];
    const bool is_updates = group.kind == Group::Kind::Part && group.name == kUpdates;
    const bool is_folded = is_updates || group.kind == Group::Kind::Parallel;
    if (is_folded) fold_boxes(picture, static_cast<int>(g));
  }
  fold_scopes(picture);
}

}  // namespace kiln::picture
