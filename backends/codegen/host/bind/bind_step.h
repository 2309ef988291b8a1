// Binds single steps: a function for each kind of step with sizes to evaluate.
#pragma once

#include "backends/codegen/host/bind/bind_inputs.h"

namespace kiln::codegen {

/// The matmul that was prepared last for a plan: most matmuls have the shape of the one before.
struct LastMatmul {
  MatmulShape shape = {};
  RhsUse use = RhsUse::Once;
  std::shared_ptr<const PreparedMatmul> matmul;  // null: none
};

/// The context of binding a step: its plan, and the bound plan under construction.
struct StepBinding {
  const Plan& plan;
  const BindInputs& inputs;
  const PlanUse& use;
  BoundPlan& out;          // slots are bound; receives packings
  LastMatmul& last_matmul;
  std::int64_t scale = 0;  // of the step: RowGroup::scales

  std::int64_t evaluate(const ir::Dim& dim) const { return inputs.evaluate(dim); }
  std::vector<std::int64_t> evaluate(const ir::Dims& dims) const {
    return evaluate_dims(dims, inputs.evaluate);
  }
  std::pmr::memory_resource* memory() const { return inputs.memory.plan; }
  const RowGroup* group() const { return use.group; }
};

BoundKernel bind_kernel(const KernelStep& step, const StepBinding& binding);
/// Divides the matmul by its sizes alone, so that results do not depend on the number of threads.
BoundMatmul bind_matmul(const MatmulStep& step, const StepBinding& binding);
BoundConvolution bind_convolution(const ConvolutionStep& step, const StepBinding& binding);
BoundRowUpdates bind_row_updates(const RowUpdateStep& step, const StepBinding& binding);
BoundAttention bind_attention(const AttentionStep& step, const StepBinding& binding);
BoundCopy bind_copy(const CopyStep& step, const StepBinding& binding);

/// Packing::source of an operand that keeps its value over several runs: an unchanged argument, a
/// loop invariant, or a result of a cached step; none: it does not.
SlotId packing_source(SlotId slot, const StepBinding& binding);
/// `source`: from packing_source() of the operand.
RhsUse rhs_use(SlotId source, const StepBinding& binding);

/// Throws InternalError for other dtypes: host libraries have convolutions of float32 only.
void require_float32(const ConvolutionStep& step);

}  // namespace kiln::codegen
