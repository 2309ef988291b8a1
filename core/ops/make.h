// make_node: the only way to a node. It checks the definition, infers the types and interns.
#pragma once

#include "core/ops/op.h"

namespace kiln::ir {

/// Throws what the op's type rule throws. The node's origin is the thread's current_origin().
NodeRef make_node(Op op, Attrs attrs, std::vector<Value> operands);
/// The single result of make_node.
Value make(Op op, Attrs attrs, std::vector<Value> operands);

/// The guards that the type rules of the nodes reached by `roots` leave, lambdas included, in
/// topological order, without repetition.
std::vector<Guard> collect_guards(std::span<const Value> roots);

}  // namespace kiln::ir
