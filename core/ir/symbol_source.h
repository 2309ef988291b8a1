// Data-dependent dims: symbols whose values a host call determines at run time.
#pragma once

#include "core/ir/lambda.h"

#include <functional>
#include <span>

namespace kiln::ir {

/// The HostCall whose results have the symbol among their dims. The types of that node name the
/// symbol without its source, which would otherwise be a reference cycle.
struct SymbolSource {
  NodeRef call;
};

/// Calls `visit` for every symbol in the types and attributes of a node, lambdas excluded. The
/// references are valid as long as the node lives.
void for_each_symbol(const Node& node, const std::function<void(const Symbol&)>& visit);
/// The same for the parameters and guards of a lambda.
void for_each_symbol(const Lambda& lambda, const std::function<void(const Symbol&)>& visit);

/// The symbols in the dims of a HostCall's results that are not dims of its operands: those that
/// the call determines.
std::vector<Symbol> data_dependent_symbols(const Node& call);

/// The sources of all symbols that the graph under `roots` uses, lambdas included, and transitively
/// of the symbols that those calls use; each call once.
std::vector<NodeRef> symbol_sources(std::span<const Value> roots);

}  // namespace kiln::ir
