// The nodes that a target's libraries take. Each answer follows from the node alone.
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

/// Asked while a graph is lowered; what is claimed is a step of its own, all else becomes kernels.
/// A rejection is the reason, as dumps show it; empty: the library takes it.
class LibraryClaims {
 public:
  virtual ~LibraryClaims() = default;
  /// About dtypes, batches and views. Asked with both operands dense, then with each as the view it
  /// is: an operand whose view is rejected is copied first, a node whose dense form is rejected
  /// becomes part of a kernel. What is taken with either view is taken with both. A matmul of a
  /// half type that is taken accumulates in float32.
  virtual std::optional<std::string> rejection_of_matmul(const MatmulRequest&) const {
    return "the library has no matmuls";
  }
  /// Of any role; operands are dense.
  virtual std::optional<std::string> rejection_of_convolution(const ir::Node&) const {
    return "the library has no convolutions";
  }
  /// `node`: one that is taken. Bias and relu that are taken are fused; tanh and sigmoid are left
  /// to kernels always, and the reason is shown.
  virtual std::optional<std::string> rejection_of_epilogue(const ir::Node&, EpilogueOp op) const {
    if (op == EpilogueOp::Bias || op == EpilogueOp::Relu) return std::nullopt;
    return "the library has no activations";
  }
};

}  // namespace kiln::codegen
