// The program as it crosses the plugin boundary or lies in a file: a graph, the variables it
// reads, and the guards between its symbolic sizes.
#pragma once

#include "core/ir/graph.h"

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

}  // namespace kiln::module
