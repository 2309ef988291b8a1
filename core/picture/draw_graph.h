// Draws graphs: a box for each node, or for each group of nodes that runs as one.
#pragma once

#include "core/module/module.h"
#include "core/picture/picture.h"

#include <functional>
#include <string>

namespace kiln::picture {

/// How the nodes of a graph or of a body share boxes.
struct Grouping {
  /// The number of the node's box; negative: it has none, and arrows to its users come from its
  /// operands. Not asked for arguments, constants, loops and branches.
  std::function<int(const ir::Node&)> box_of;
  /// A box with its title and style, to which the nodes add their lines.
  std::function<Box(int number)> new_box;
  /// The grouping of a body of the loop or branch.
  std::function<Grouping(const ir::Node&, std::size_t body)> of_body;
};

/// Draws the module's nodes. Constants, variables and views of them are in the lines of the nodes
/// that read them; loops, branches and name scopes are groups. Where a module has outputs and
/// updates, the nodes that only updates depend on are in groups of their own: gradients, which have
/// the lines of other nodes, and updates. Chains are merged and repeats are folded.
Picture draw_module(const module::Module& module);

/// The same for a graph that a backend has rewritten, with boxes for groups of nodes.
Picture draw_groups(const ir::Graph& graph, const std::string& title, const Grouping& grouping);

}  // namespace kiln::picture
