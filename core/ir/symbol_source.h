// Sizes that a host function decides, and which nodes speak of a size.
#pragma once

#include "core/ir/lambda.h"

#include <functional>
#include <span>

namespace kiln::ir {

/// The HostCall that has the symbol among the dims of its results. That node's own types name the
/// symbol without its source: a node that kept itself alive would never be freed.
struct SymbolSource {
  NodeRef call;
};

/// Calls `visit` for every symbol in the types and attributes of a node, lambdas excluded. The
/// references hold as long as the node.
void for_each_symbol(const Node& node, const std::function<void(const Symbol&)>& visit);
/// The same for the parameters and guards of a lambda.
void for_each_symbol(const Lambda& lambda, const std::function<void(const Symbol&)>& visit);

/// The symbols of a HostCall's results that its operands do not have.
std::vector<Symbol> own_symbols(const Node& call);

/// The source of every symbol that the nodes of `roots` speak of, in lambdas too, and of every
/// symbol that those sources speak of; each call once.
std::vector<NodeRef> symbol_sources(std::span<const Value> roots);

}  // namespace kiln::ir
