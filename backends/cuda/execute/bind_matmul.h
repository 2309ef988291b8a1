// A matmul with the sizes of a call.
#pragma once

#include "backends/cuda/libraries/cublaslt.h"

namespace kiln::cuda {

struct DeviceMatmul {
  std::shared_ptr<const PreparedMatmul> prepared;  // null: the result is empty, or a sum of nothing
  // Bytes from the beginning of each slot to its matrix.
  std::int64_t lhs_offset = 0, rhs_offset = 0;
  std::int64_t row_bytes = 0;  // of the result
  std::int64_t workspace = 0;  // offset in the arena
  std::int64_t workspace_bytes = 0;
};

/// REQUIRES: a ScopedContext of the thread. Throws codegen::SizeFailure for sizes that the library
/// cannot count, sdk::Failure where the library has no algorithm, and what `evaluate` throws.
DeviceMatmul bind_matmul(const codegen::MatmulStep& step, const MatmulLibrary& library,
                         const codegen::EvaluateDim& evaluate);

}  // namespace kiln::cuda
