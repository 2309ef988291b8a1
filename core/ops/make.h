// make_node(), the only way to create a node: checks its form, infers its types and interns it.
#pragma once

#include "core/ops/op.h"

#include <unordered_set>

namespace kiln::ir {

/// The maximal rank of a result: the limit of modules (kMaxDims in core/module/module.h) and of
/// Arrays.
inline constexpr int kMaxRank = 64;

/// The node of this op, attributes and operands, interned. Its origin is the thread's
/// current_origin(). Throws ValueError or TypeError of the op's type rule. Thread-safe.
NodeRef make_node(Op op, Attrs attrs, std::vector<Value> operands);
/// Result 0 of make_node().
Value make(Op op, Attrs attrs, std::vector<Value> operands);

/// The guards that the node's type rule demands, without those of its lambdas.
std::vector<Guard> guards_of(const Node& node);
/// Whether a loop of `length` steps has at least one step in every call.
bool has_step(const Dim& length);
/// The guards of all nodes that `roots` depend on, in topological order, without duplicates. Guards
/// of lambdas are left out, except those of the body of a loop that has a step: passes may hoist
/// nodes of the body, so the guards must hold outside, too.
std::vector<Guard> collect_guards(std::span<const Value> roots);

/// Records the nodes that make_node() returned during a Scope, new or already interned: which nodes
/// belong to a user's function must not depend on what was interned before.
class Trace {
 public:
  /// Records the nodes that this thread requests. Scopes nest; enclosing traces record them, too.
  struct Scope {
    explicit Scope(Trace& recording);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

    Trace& trace;
    const Scope* outer;
  };

  void record(const NodeRef& node);
  bool contains(const Node& node) const { return nodes_.count(&node) != 0; }

 private:
  std::unordered_set<const Node*> nodes_;
  std::vector<NodeRef> kept_;  // keeps the nodes alive, so that no address is reused
};

}  // namespace kiln::ir
