// Splits the batches into library calls of at most kMaxBatches and prepares each call.
#include "backends/cuda/execute/bind_matmul.h"

#include "backends/cuda/execute/source_errors.h"

#include <algorithm>

namespace kiln::cuda {
DeviceMatmul bind_matmul(const codegen::MatmulStep& step, const MatmulLibrary& library,
                         const codegen::EvaluateDim& evaluate) {
  const MatmulDescription matmul = describe(step, library.tf32(), evaluate);
  const auto width = static_cast<std::int64_t>(dtype_bytes(step.dtype));
  DeviceMatmul bound;
  bound.row_bytes = matmul.d.rows * width;
  if (matmul.is_empty() || matmul.k == 0) return bound;
  const std::int64_t lhs = evaluate(step.form.lhs_offset), rhs = evaluate(step.form.rhs_offset);
  for (std::int64_t done = 0; done < matmul.batches; done += kMaxBatches) {
    MatmulDescription part = matmul;
    part.batches = std::min(matmul.batches - done, kMaxBatches);
    bound.parts.push_back(
        {.prepared = with_source(*step.node, [&] { return library.prepare(part); }),
         .lhs_offset = (lhs + done * part.b.batch_stride) * width,
         .rhs_offset = (rhs + done * part.a.batch_stride) * width,
         .result_offset = done * part.d.batch_stride * width});
    const std::int64_t workspace = bound.parts.back().prepared->workspace_bytes();
    bound.workspace_bytes = std::max(bound.workspace_bytes, workspace);
  }
  if (matmul.bias) {
    bound.bias_offset = bound.workspace_bytes;
    bound.workspace_bytes += bound.row_bytes + kBiasAlignment - 1;
  }
  return bound;
}

}  // namespace kiln::cuda
