// Prepares the matmul unless there is nothing to multiply.
#include "backends/cuda/execute/bind_matmul.h"

#include "backends/codegen/inspect/source.h"

namespace kiln::cuda {
namespace {

/// With the source line in the error's text.
std::shared_ptr<const PreparedMatmul> prepare(const ir::Node& node, const MatmulLibrary& library,
                                              const MatmulDescription& matmul) {
  try {
    return library.prepare(matmul);
  } catch (const sdk::Failure& failure) {
    throw sdk::Failure(failure.code(), failure.what() + (" (" + codegen::source_of(node) + ")"))
        .native(failure.native_library, failure.native_code);
  }
}

}  // namespace

DeviceMatmul bind_matmul(const codegen::MatmulStep& step, const MatmulLibrary& library,
                         const codegen::EvaluateDim& evaluate) {
  const MatmulDescription matmul = describe(step, library.tf32(), evaluate);
  const auto width = static_cast<std::int64_t>(dtype_bytes(step.dtype));
  DeviceMatmul bound;
  bound.row_bytes = matmul.d.rows * width;
  if (matmul.is_empty() || matmul.depth == 0) return bound;
  bound.lhs_offset = evaluate(step.form.lhs_offset) * width;
  bound.rhs_offset = evaluate(step.form.rhs_offset) * width;
  bound.prepared = prepare(*step.node, library, matmul);
  bound.workspace_bytes = bound.prepared->workspace_bytes();
  return bound;
}

}  // namespace kiln::cuda
