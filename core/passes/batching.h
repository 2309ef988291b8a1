// One step of a loop turned into all steps at once: the stacked form of a node, with a leading axis
// of the loop's length. Shared by scan_batch_inputs (before the loop) and scan_push_outputs
// (after).
#pragma once

#include "core/ir/node.h"

#include <optional>

namespace kiln::passes {

/// An operand of the node: its value for all steps, which has the leading axis when `stacked`,
/// and is the same at each step when not.
struct BatchOperand {
  ir::Value value;
  bool stacked = false;
};

/// The results of `node` for all steps, each with the leading axis; nothing when the op has no
/// stacked form (control, effects, indices into stacked references). At least one is stacked.
std::optional<std::vector<ir::Value>> batch_node(const ir::Node& node,
                                                 const std::vector<BatchOperand>& operands,
                                                 const ir::Dim& length);

}  // namespace kiln::passes
