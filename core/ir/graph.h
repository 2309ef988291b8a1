// Graph: a whole program with its inputs, outputs and updates. A pass takes a Graph and returns a
// Graph; nodes are immutable, so that values it leaves alone stay the same pointers.
#pragma once

#include "core/ir/guard.h"
#include "core/ir/node.h"

namespace kiln::ir {

/// Assigns `value` to `variable` after the call has succeeded. `value` is computed from the state
/// before the call.
struct Update {
  Value variable;
  Value value;
  bool operator==(const Update&) const = default;
};

struct Graph {
  std::vector<Value> inputs;  // placeholders, in the order they are fed
  std::vector<Value> outputs;
  std::vector<Update> updates;
  /// One result of each host call that determines a data-dependent dim used in the graph. Empty in
  /// the partitions that a backend gets: there such dims are dims of inputs.
  std::vector<Value> sizes = {};

  /// Outputs, then the new values of updates, then sizes.
  std::vector<Value> roots() const;
  bool operator==(const Graph&) const = default;
};

}  // namespace kiln::ir
