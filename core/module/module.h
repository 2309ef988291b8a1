// Module: a program as it crosses the plugin boundary or is saved to a file: a graph, the variables
// that it uses, and the guards on its symbolic dims.
#pragma once

#include "core/ir/graph.h"
#include "core/ir/lambda.h"

#include <unordered_map>

namespace kiln::module {

/// A variable that the program reads or updates, in the order of the state buffers of a call.
struct StateEntry {
  ir::Value variable;  // the Variable node
};

struct Module {
  std::string name;
  ir::Graph graph;
  std::vector<StateEntry> state;
  std::vector<ir::Guard> guards;
  /// Origins as read, of nodes that were already interned with other origins, so that reading and
  /// writing a module reproduces it.
  std::unordered_map<const ir::Node*, ir::Origin> read_origins = {};

  /// The origin of the node in this module.
  const ir::Origin& origin_of(const ir::Node& node) const;
  /// Records the origin that a reader found.
  void set_origin(const ir::Node& node, const ir::Origin& origin);
  /// The roots of everything that is written: inputs, variables, then outputs and updates.
  std::vector<ir::Value> written_roots() const;
  /// Returns the node outside of bodies that has this number in the written module; null for none.
  const ir::Node* node_numbered(std::uint64_t number) const;
};

/// Makes a module with the state of `graph`: updated variables in the order of the updates, then
/// others by first use.
Module make_module(const ir::Graph& graph, std::vector<ir::Guard> guards = {},
                   std::string name = "");

/// A large constant, passed beside the module without a copy.
struct SideConstant {
  const std::byte* data = nullptr;
  std::size_t size = 0;
};

// Limits that readers enforce.
inline constexpr std::size_t kMaxModuleBytes = std::size_t{1} << 32;
inline constexpr std::size_t kMaxNesting = ir::kMaxNesting;  // of lambdas
inline constexpr std::size_t kMaxDims = 64;  // of a type
/// The nesting of the operations of a dim within one expression of the text form.
inline constexpr std::size_t kMaxInlineDimDepth = 32;
/// The terms of a product of operations that are polynomials, which no writer writes.
inline constexpr std::size_t kMaxExpandedTerms = 256;

/// The number of terms of the polynomial.
inline std::size_t term_count(const ir::Dim& dim) {
  return dim.expr() ? dim.expr()->terms.size() + 1 : 1;
}

/// Whether the types are equal, but for the form of dims of the same value: simplification may
/// depend on the order of symbols of one name, which differs between processes.
bool same_types(const ir::Type& a, const ir::Type& b);

}  // namespace kiln::module
