// Checks each limit of the library.
#include "backends/cuda/libraries/matmul_claims.h"

#include "backends/cuda/libraries/matmul_description.h"
#include "core/types/text.h"

#include <algorithm>

namespace kiln::cuda {
namespace {

using namespace codegen;

bool is_too_large(const ProductAxis& axis) {
  return axis.size.is_static() && axis.size.value() > INT32_MAX;
}

/// Whether an axis of one operand did not merge into rows or columns and became a batch axis. A
/// view with one is rejected, so that the operand is copied: the copy is dense and its axes merge,
/// while the views of both operands could need two batch axes.
bool loops_over_one_operand(const ProductForm& form) {
  return std::any_of(form.batch.begin(), form.batch.end(), [](const ProductAxis& axis) {
    return !axis.size.is_one() && (axis.lhs == ir::Dim(0) || axis.rhs == ir::Dim(0));
  });
}

}  // namespace

std::optional<std::string> MatmulClaims::rejection_of_matmul(const MatmulRequest& matmul) const {
  const ProductForm& form = matmul.form;
  if (matmul.dtype == DType::Float16 || matmul.dtype == DType::BFloat16) {
    return text("cuBLASLt's matmuls of ", matmul.dtype, " are left to a later version");
  }
  if (matmul.dtype != DType::Float32 && matmul.dtype != DType::Float64) {
    return text("cuBLASLt is used for float32 and float64 alone, not for ", matmul.dtype);
  }
  if (form.depth.size.is_one()) return "nothing is summed: kernels need no library for it";
  if (form.rows.size.is_one() && form.columns.size.is_one()) {
    return "one row by one column is a reduction, which kernels compute";
  }
  const std::vector<ProductAxis> batches = merged_batches(form);
  if (batches.size() > 1) {
    return text("cuBLASLt takes one batch axis, and ", batches.size(), " do not merge into one");
  }
  if (is_too_large(form.rows) || is_too_large(form.columns) || is_too_large(form.depth)) {
    return "cuBLASLt takes fewer than 2^31 rows and columns";
  }
  if ((form.lhs_is_view || form.rhs_is_view) && loops_over_one_operand(form)) {
    return "the rows or columns of the view do not lie together as one";
  }
  return std::nullopt;
}

std::optional<std::string> MatmulClaims::rejection_of_epilogue(const ir::Node& node,
                                                               EpilogueOp op) const {
  if (op == EpilogueOp::Bias) return std::nullopt;
  if (op == EpilogueOp::Relu) return "it is not verified that cuBLASLt's relu keeps NaN";
  return LibraryClaims::rejection_of_epilogue(node, op);
}

}  // namespace kiln::cuda
