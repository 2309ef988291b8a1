// Replaces softmax(scale q k^T + bias) v by attention, and its vector-Jacobian products by
// attention_gradient, where nothing else reads the probabilities.
//
//   Before: %0 = dot %q %k; %1 = mul %0 scale; %2 = softmax %1; %3 = dot %2 %v
//   After:  %3 = attention %q %k %v scale
#pragma once

#include "core/ir/graph.h"

namespace kiln::passes {

/// Includes lambdas. float32 and float64: halves round the scores and the probabilities. The scale
/// is a scalar that multiplies or divides; the bias is added last, maybe between reshapes of the
/// batch axes. Each matmul may have its axes in any order.
ir::Graph find_attention(const ir::Graph& graph);

}  // namespace kiln::passes
