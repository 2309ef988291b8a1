// Binds a matmul step to the sizes of a call: describes cuBLASLt's calls and selects algorithms.
#pragma once

#include "backends/codegen/plan/step_times.h"
#include "backends/cuda/libraries/cublaslt.h"

#include <algorithm>
#include <vector>

namespace kiln::cuda {

/// One call of cuBLASLt, for a range of the batches. Offsets in bytes from the start of each slot.
struct MatmulPart {
  std::shared_ptr<const PreparedMatmul> prepared;
  std::int64_t lhs_offset = 0, rhs_offset = 0, result_offset = 0;
};

/// A matmul step with the sizes of a call.
struct DeviceMatmul {
  /// Each of at most kMaxBatches. None: the result is empty, or K is 0.
  std::vector<MatmulPart> parts;
  std::int64_t row_bytes = 0;  // of the row-major result: N elements
  std::int64_t workspace = 0;  // offset in the arena, shared by the parts
  std::int64_t workspace_bytes = 0;
  std::int64_t bias_offset = 0;  // in the workspace: an aligned copy of the bias, where needed
  codegen::StepCost cost = {};
};

/// An estimate of the number of operations that issue_matmul() queues.
inline std::int64_t operations_of(const DeviceMatmul& bound) {
  return std::max(std::int64_t{1}, static_cast<std::int64_t>(bound.parts.size()));
}

/// Evaluates the sizes and prepares the calls. Throws codegen::SizeFailure for sizes that the
/// library cannot count, sdk::Failure where the library has no algorithm, with the source line, and
/// what `evaluate` throws. REQUIRES: a ScopedContext of the thread, which captures no stream.
DeviceMatmul bind_matmul(const codegen::MatmulStep& step, const MatmulLibrary& library,
                         const codegen::EvaluateDim& evaluate);

}  // namespace kiln::cuda
