// Finds the weights of a bound program: tensors that depend on unchanged variables alone.
#pragma once

#include "backends/codegen/host/bind/bind_inputs.h"

namespace kiln::codegen {

/// Lists the results of the groups of cached steps, then the packed operands of the plan and of its
/// loops that depend on unchanged variables alone, and sets the offsets of cached slots. REQUIRES:
/// the steps are bound.
void bind_weights(BoundPlan& bound, const BindInputs& inputs);

}  // namespace kiln::codegen
