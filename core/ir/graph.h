// A whole program: what a compiled function takes, gives and updates. Passes take a Graph and
// return a Graph; since nodes are immutable, an unchanged one has pointer-equal values.
#pragma once

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

/// An equality or order of dims that could not be settled when the graph was built; it is checked
/// at each call. `fact` is the text of the error, in terms of the user's operands.
struct Guard {
  enum class Kind : std::uint8_t { Equal, LessEqual } kind = Kind::Equal;
  Dim left, right;
  std::string fact;
  Origin origin;
};

}  // namespace kiln::ir
