// The program as it crosses the plugin boundary or lies in a file: a graph, the variables it
// reads, and the guards between its symbolic sizes.
#pragma once

#include "core/ir/graph.h"

#include <unordered_map>

namespace kiln::module {

/// A variable that the program reads or updates; the order is that of the call's state buffers.
struct StateEntry {
  ir::Value variable;  // the Variable node
};

struct Module {
  std::string name;
  ir::Graph graph;
  std::vector<StateEntry> state;
  std::vector<ir::Guard> guards;
  /// Source lines as a reader found them, of nodes that already lived with other ones: so that
  /// what is read and written again is the same.
  std::unordered_map<const ir::Node*, ir::Origin> read_origins = {};

  const ir::Origin& origin_of(const ir::Node& node) const;
  /// Notes what a reader found.
  void set_origin(const ir::Node& node, const ir::Origin& origin);
  /// Inputs, variables and results: all that is written, inputs and variables first.
  std::vector<ir::Value> written_roots() const;
};

/// Variables come in the order of the updates, then of first use.
Module make_module(const ir::Graph& graph, std::vector<ir::Guard> guards = {},
                   std::string name = "");

/// A constant beside the module: its bytes stay where they are.
struct SideConstant {
  const std::byte* data = nullptr;
  std::size_t size = 0;
};

// Limits of what a reader takes.
inline constexpr std::size_t kMaxModuleBytes = std::size_t{1} << 32;
inline constexpr std::size_t kMaxNesting = 64;
inline constexpr std::size_t kMaxDims = 64;      // of a type
inline constexpr std::size_t kMaxDimDepth = 32;  // of floordiv and the like in each other
inline constexpr std::size_t kMaxDimTerms = 256;

/// Terms of the polynomial: products are refused when it would grow too large.
inline std::size_t term_count(const ir::Dim& dim) {
  return dim.expr() ? dim.expr()->terms.size() + 1 : 1;
}

}  // namespace kiln::module
