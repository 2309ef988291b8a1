// A whole program: what a compiled function takes, gives and updates. Passes take a Graph and
// return a Graph; since nodes are immutable, an unchanged one has pointer-equal values.
#pragma once

#include "core/ir/guard.h"
#include "core/ir/node.h"

namespace kiln::ir {

/// The variable gets `value` when the call has succeeded; computed from the state before the call.
struct Update {
  Value variable;
  Value value;
  bool operator==(const Update&) const = default;
};

struct Graph {
  std::vector<Value> inputs;  // placeholders, in the order they are fed
  std::vector<Value> outputs;
  std::vector<Update> updates;
  /// A result of each host call that decides sizes which the graph speaks of; none in a program
  /// that a backend gets, where such sizes are those of inputs.
  std::vector<Value> sizes = {};

  /// Outputs, then the new values of updates, then sizes.
  std::vector<Value> roots() const;
  bool operator==(const Graph&) const = default;
};

}  // namespace kiln::ir
