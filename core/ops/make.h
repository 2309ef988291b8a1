// make_node: the only way to a node. It checks the definition, infers the types and interns.
#pragma once

#include "core/ops/op.h"

#include <unordered_set>

namespace kiln::ir {

/// Throws what the op's type rule throws. The node's origin is the thread's current_origin().
NodeRef make_node(Op op, Attrs attrs, std::vector<Value> operands);
/// The single result of make_node.
Value make(Op op, Attrs attrs, std::vector<Value> operands);

/// The guards that the node's type rule emits, without those of its lambdas.
std::vector<Guard> guards_of(const Node& node);
/// Whether a loop of `length` steps has at least one in every call.
bool has_step(const Dim& length);
/// The guards of the nodes reached by `roots`, in topological order, without repetition. Those of a
/// lambda are left to it, except for a loop that has a step: its body's are true of the code around
/// it, too, which passes may move nodes of the body to.
std::vector<Guard> collect_guards(std::span<const Value> roots);

/// Records the nodes requested from make_node while a Scope lives, new or interned, so that what a
/// user's function created does not depend on what was interned before it ran.
class Trace {
 public:
  /// While it lives, `trace` records the nodes that this thread asks for. Scopes nest; every
  /// enclosing trace records, too.
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
  std::vector<NodeRef> kept_;  // so that no address is used again for another node
};

}  // namespace kiln::ir
