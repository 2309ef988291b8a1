// Binds one step: a function for each kind that has sizes to evaluate.
#pragma once

#include "backends/codegen/host/bind/bind_inputs.h"

namespace kiln::codegen {

/// The plan that a step is bound for.
struct StepBinding {
  const Plan& plan;
  const BindInputs& inputs;
  const PlanUse& use;
  BoundPlan& out;          // slots are bound; takes packed operands
  std::int64_t scale = 0;  // of the step: RowGroup::scales

  std::int64_t evaluate(const ir::Dim& dim) const { return inputs.evaluate(dim); }
  std::vector<std::int64_t> evaluate(const ir::Dims& dims) const {
    return evaluate_dims(dims, inputs.evaluate);
  }
  const RowGroup* group() const { return use.group; }
};

BoundKernel bind_kernel(const KernelStep& step, const StepBinding& binding);
/// Divides the matmul by its size alone, so that results do not depend on the number of threads.
BoundMatmul bind_matmul(const MatmulStep& step, const StepBinding& binding);
BoundConvolution bind_convolution(const ConvolutionStep& step, const StepBinding& binding);
BoundRowUpdates bind_row_updates(const RowUpdateStep& step, const StepBinding& binding);
BoundCopy bind_copy(const CopyStep& step, const StepBinding& binding);

/// Packing::source of an operand that is the same tensor in many runs; -1: it is not.
int kept_source(int slot, const StepBinding& binding);
/// `source`: of the operand, from kept_source.
RhsUse rhs_use(int source, const StepBinding& binding);

/// InternalError for a convolution of another dtype: libraries of the host have those of float32.
void require_float32(const ConvolutionStep& step);

}  // namespace kiln::codegen
