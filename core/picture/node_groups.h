// The groups of nodes: the parts of a training step, and name scopes in them.
#pragma once

#include "core/ir/graph.h"
#include "core/ir/scope.h"
#include "core/picture/picture.h"

#include <functional>
#include <map>
#include <string_view>
#include <tuple>
#include <unordered_set>
#include <utility>
#include <vector>

namespace kiln::picture {

using OriginOf = std::function<const ir::Origin&(const ir::Node&)>;

/// The group of a loop or branch, and the name scope that it is in.
struct BodyGroup {
  int group = 0;
  const ir::Scope* scope = nullptr;
};

class NodeGroups {
 public:
  /// Adds the groups "gradients" and "updates" if the graph has outputs and updates. REQUIRES:
  /// `picture` outlives the object.
  NodeGroups(Picture& picture, const ir::Graph& graph, OriginOf origin_of);

  /// The group of a node outside of bodies, in name scopes. Of the nodes that no output depends on,
  /// gradients are known by the origin of a node that outputs depend on, since gradients have the
  /// origins of the nodes that were differentiated; updates read them. The others are updates.
  int group_of(const ir::Node& node);
  /// The group of a node in a body, in the name scopes that are inside of the body's own.
  int group_of(const ir::Node& node, const BodyGroup& body);
  /// The group for new values of variables.
  int updates() const { return parts_.empty() ? 0 : parts_[1]; }
  /// Marks the arrows that lead from one part to another.
  void mark_remote();

  const ir::Origin& origin_of(const ir::Node& node) const { return origin_of_(node); }

 private:
  using OriginKey = std::tuple<std::string_view, unsigned, std::string_view, const ir::Scope*>;
  static OriginKey key_of(const ir::Origin& origin);
  int scope_group(const ir::Scope* scope, const BodyGroup& outer);
  int part_of(int group) const;

  Picture& picture_;
  OriginOf origin_of_;
  std::vector<int> parts_;  // gradients, updates; empty: there is one part only
  std::unordered_set<const ir::Node*> for_outputs_, gradients_;
  std::map<std::pair<int, const ir::Scope*>, int> scopes_;  // groups by outer group and scope
};

/// Merges chains, hoists what scopes share, and folds repeats: scopes, and boxes of updates and of
/// parallel regions. REQUIRES: no NodeGroups of the picture is used after it.
void shorten(Picture& picture);

}  // namespace kiln::picture
