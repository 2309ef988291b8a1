// Rejects matmuls beyond the limits of cuBLASLt, each with a reason.
#include "backends/cuda/libraries/matmul_claims.h"

#include "backends/cuda/libraries/matmul_description.h"
#include "core/types/text.h"

#include <algorithm>

namespace kiln::cuda {
namespace {

using namespace codegen;

bool is_too_large(const MatmulAxis& axis) {
  return axis.size.is_static() && axis.size.value() > INT32_MAX;
}

/// Whether an axis of only one operand became a batch axis, since it did not merge into M or N. A
/// view with such an axis is rejected, so that the operand is copied: the copy is dense and its
/// axes merge. The views of both operands could otherwise need two batch axes.
bool loops_over_one_operand(const BatchedMatmul& form) {
  return std::any_of(form.batch.begin(), form.batch.end(), [](const MatmulAxis& axis) {
    return !axis.size.is_one() && (axis.lhs == ir::Dim(0) || axis.rhs == ir::Dim(0));
  });
}

}  // namespace

std::optional<std::string> MatmulClaims::rejection_of_matmul(const MatmulRequest& matmul) const {
  const BatchedMatmul& form = matmul.form;
  if (!is_float(matmul.dtype)) {
    return text("cuBLASLt is used for floats alone, not for ", matmul.dtype);
  }
  if (form.k.size.is_one()) return "K is 1: an elementwise product, which can be fused";
  if (form.m.size.is_one() && form.n.size.is_one()) {
    return "M and N are 1: a reduction, which can be fused";
  }
  const std::vector<MatmulAxis> batches = merged_batches(form);
  if (batches.size() > 1) {
    return text("cuBLASLt takes one batch axis, and ", batches.size(), " do not merge into one");
  }
  if (is_too_large(form.m) || is_too_large(form.n) || is_too_large(form.k)) {
    return "cuBLASLt takes fewer than 2^31 rows and columns";
  }
  if ((form.lhs_is_view || form.rhs_is_view) && loops_over_one_operand(form)) {
    return "the rows or columns of the view do not merge into one axis";
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
