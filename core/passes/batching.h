// Batches a node over the steps of a loop (vmap): the node of one step becomes one node for all
// steps, with the loop's length as leading axis. Used before the loop by scan_batch_inputs and
// after it by scan_push_outputs.
//
//   Before, per step:  %1 = dot %x[t] %w : float32[b,n]
//   After:             %1 = dot %x %w : float32[length,b,n]
#pragma once

#include "core/ir/node.h"

#include <optional>

namespace kiln::passes {

/// An operand for all steps: with the leading axis if `stacked`, else the same value at each step.
struct BatchOperand {
  ir::Value value;
  bool stacked = false;
};

/// The results of `node` for all steps, each with the leading axis; nullopt if the op cannot be
/// batched (lambdas, effects, gathers from a stacked reference). REQUIRES: at least one operand is
/// stacked.
std::optional<std::vector<ir::Value>> batch_node(const ir::Node& node,
                                                 const std::vector<BatchOperand>& operands,
                                                 const ir::Dim& length);

}  // namespace kiln::passes
