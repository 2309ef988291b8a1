// A row of the table of operators: since which opsets one is imported, by which function, or the
// reason why it is not.
#pragma once

#include "core/ir/node.h"

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace kiln::onnx {

class NodeContext;

/// Builds a node: returns its outputs, at least as many as the node names.
using ImportFunction = std::vector<ir::Value> (*)(NodeContext& node);

/// The opsets that define or change an op, ascending; zeros follow.
struct Opsets {
  std::array<std::uint8_t, 12> versions{};

  template <class... Versions>
  constexpr Opsets(Versions... all)  // NOLINT: {1, 13} in rows
      : versions{static_cast<std::uint8_t>(all)...} {}
  constexpr int first() const { return versions[0]; }
};

struct OperatorRow {
  std::string_view name;  // a literal
  Opsets since;
  ImportFunction import = nullptr;  // null: not imported
  std::string_view reason = {};  // of an op that is not imported
};

}  // namespace kiln::onnx
