// The interface of a target's libraries. Answers depend on the request alone and have no effects.
#pragma once

#include "backends/codegen/claims/product.h"

#include <optional>
#include <string>

namespace kiln::codegen {

/// A matmul as a library is asked to take it. Each matrix is a view of what holds the elements:
/// an offset and strides; matrices of a batch lie at strides of the batch's axes.
struct MatmulRequest {
  const ir::Node& node;     // the Dot
  DType dtype;              // of both operands and the result
  const ProductForm& form;  // batch, sizes, strides and offsets
};

/// Elementwise work that follows a library's call and may be fused into it.
enum class EpilogueOp : std::uint8_t {
  Bias,  // a vector is added to every row of a matmul, to every position of a convolution
  Relu,  // what is not above 0 becomes 0; NaN stays
  Tanh,
  Sigmoid,
};

/// The nodes that a target's libraries compute. A claimed node becomes a library step; all others
/// become kernels. A rejection is the reason, as dumps show it; empty: the library takes the node.
class LibraryClaims {
 public:
  virtual ~LibraryClaims() = default;
  /// Called with both operands dense, then with each operand in turn as the strided view that it
  /// is. A rejected view is copied to a dense tensor before the call; a Dot whose dense form is
  /// rejected is lowered to a kernel. REQUIRES: views that are accepted one at a time are accepted
  /// together; a matmul of float16 or bfloat16 accumulates in float32.
  virtual std::optional<std::string> rejection_of_matmul(const MatmulRequest&) const {
    return "the library has no matmuls";
  }
  /// Of any role; operands are dense.
  virtual std::optional<std::string> rejection_of_convolution(const ir::Node&) const {
    return "the library has no convolutions";
  }
  /// `node`: a ScatterSub. A target that takes it runs row update steps (plan/plan.h).
  virtual std::optional<std::string> rejection_of_row_update(const ir::Node&) const {
    return "the target has no updates of rows";
  }
  /// `node`: one that the library takes. Bias and relu are fused unless rejected; tanh and sigmoid
  /// are always computed by kernels, and the reason is dumped.
  virtual std::optional<std::string> rejection_of_epilogue(const ir::Node&, EpilogueOp op) const {
    if (op == EpilogueOp::Bias || op == EpilogueOp::Relu) return std::nullopt;
    return "the library has no activations";
  }
};

}  // namespace kiln::codegen
