// A program with the values that it runs with, and edits that make it smaller.
#pragma once

#include "core/ir/graph.h"
#include "core/module/module.h"

#include <kiln/array.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace kiln::tool {

using KnownValues = std::unordered_map<ir::Value, Array, ir::ValueHash>;
using NodeSet = std::unordered_set<const ir::Node*>;

/// REQUIRES: no variable has a state, as in a module that is read from a file.
struct Program {
  std::string name;
  ir::Graph graph;
  KnownValues values;  // of all inputs and variables, and of other values if they are known

  /// Has the guards that its nodes demand. Others of the file, of nodes that passes had removed,
  /// are left out: they are about sizes that edits remove, and reject a call before any backend
  /// runs.
  module::Module to_module() const;
  /// The values of the module's inputs, then of its variables.
  std::vector<Array> arguments(const module::Module& module) const;
};

/// The nodes that compute: all but constants, inputs, variables and parameters; with `in_bodies`
/// those of loops and branches, too. Operands come before users.
std::vector<ir::NodeRef> computing_nodes(const ir::Graph& graph, bool in_bodies);

/// How small a program is: nodes, also those of bodies, then elements of inputs and variables.
using ProgramSize = std::pair<std::size_t, std::size_t>;
ProgramSize size_of(const Program& program);

// Each edit returns nothing if it does not apply, or if the type rules reject its graph.

/// Keeps the roots with these indices: outputs, then updates.
std::optional<Program> with_roots(const Program& program, const std::vector<std::size_t>& kept);
/// Turns updates into outputs and variables into inputs.
std::optional<Program> without_variables(const Program& program);
/// Replaces unknown sizes by those of the values.
std::optional<Program> with_static_sizes(const Program& program);
/// Removes nodes outside of bodies: other nodes read their values as inputs. Outputs and updates
/// that they compute are dropped, or with `at_operands` replaced by the operands of the nodes.
std::optional<Program> without_nodes(const Program& program, const NodeSet& nodes,
                                     bool at_operands);
/// Replaces a value, also in bodies.
std::optional<Program> with_value(const Program& program, const ir::Value& value,
                                  const ir::Value& by);
/// Replaces a size by a smaller one wherever it occurs. Values keep their leading elements.
std::optional<Program> with_size(const Program& program, std::int64_t size, std::int64_t smaller);

}  // namespace kiln::tool
