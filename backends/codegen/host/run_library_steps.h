// Runs steps of a library: matmuls and convolutions, whose parts run in parallel.
#pragma once

#include "backends/codegen/host/execution_list.h"
#include "backends/codegen/host/run_context.h"

namespace kiln::codegen {

/// Packs the operand, whose slot has that address, for a packing of `plan`. Throws sdk::Failure.
void pack(const BoundPlan& plan, const Packing& packing, const std::byte* operand,
          std::byte* packed, const RunContext& context);
/// Packs an rhs that the parts share, then runs the parts. Throws sdk::Failure.
void run_matmul(const MatmulStep& step, const BoundMatmul& bound, const ExecutionList& list,
                const RunContext& context);
/// Packs the filter unless it is packed, then runs the parts. Throws sdk::Failure.
void run_convolution(const ConvolutionStep& step, const BoundConvolution& bound,
                     const ExecutionList& list, const RunContext& context);

}  // namespace kiln::codegen
