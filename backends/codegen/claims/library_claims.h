// The interface by which a target declares the nodes that its libraries compute. All functions are
// pure: results depend on the request alone. Thread-safe.
#pragma once

#include "backends/codegen/claims/batched_matmul.h"

#include <optional>
#include <string>

namespace kiln::codegen {

/// A matmul that a library may compute. Each matrix is a strided view: an offset, and a stride for
/// each axis, batch axes included.
struct MatmulRequest {
  const ir::Node& node;       // the Dot
  DType dtype;                // of both operands and the result
  const BatchedMatmul& form;  // sizes, strides and offsets
};

/// Elementwise work on the result of a library call, which may be fused into the call.
enum class EpilogueOp : std::uint8_t {
  Bias,  // adds a vector to every row of a matmul, to every position of a convolution
  Relu,  // select(x <= 0, 0, x): NaN stays NaN
  BoundedRelu,  // the minimum of Relu and a positive constant, such as 6
  Tanh,
  Sigmoid,
};

/// Each function returns the reason of a rejection, as dumps show it; empty: the library takes the
/// node, which becomes a library step of the plan. All other nodes are lowered to kernels.
class LibraryClaims {
 public:
  virtual ~LibraryClaims() = default;
  /// Asked first with both operands dense, then with each operand in turn as a strided view. A
  /// rejected view is copied to a dense tensor before the call; a Dot whose dense form is rejected
  /// is lowered to a kernel. REQUIRES: views that are accepted one at a time are accepted together;
  /// a matmul of float16 or bfloat16 accumulates in float32.
  virtual std::optional<std::string> rejection_of_matmul(const MatmulRequest&) const {
    return "the library has no matmuls";
  }
  /// `node`: a Dot of float32 that the library takes, without batch axes, whose right operand is
  /// widened from `dtype`, float16 or bfloat16, and keeps its value over many calls. A library that
  /// takes it reads the narrow elements.
  virtual std::optional<std::string> rejection_of_narrow_rhs(const ir::Node&, DType) const {
    return "operands of the library have one dtype";
  }
  /// `node`: a Conv, forward or backward. Operands are dense.
  virtual std::optional<std::string> rejection_of_convolution(const ir::Node&) const {
    return "the library has no convolutions";
  }
  /// Whether the library takes only symmetric padding: the same at both ends of an axis. Other
  /// convolutions are rewritten (graph/make_padding_symmetric.h).
  virtual bool requires_symmetric_padding() const { return false; }
  /// Whether the library's filters are [filters, spatial.., channels of a group] in memory.
  /// Kernels transpose those of the graph then (plan/transpose_filters.h).
  virtual bool takes_filters_first() const { return false; }
  /// `node`: a ScatterSub. A target that takes it runs row update steps (plan/plan.h).
  virtual std::optional<std::string> rejection_of_row_update(const ir::Node&) const {
    return "the target has no sparse row updates";
  }
  /// `node`: an Attention or AttentionGradient. A target that takes it runs attention steps
  /// (plan/plan.h).
  virtual std::optional<std::string> rejection_of_attention(const ir::Node&) const {
    return "the target has no attention";
  }
  /// `node`: one that the library takes. Bias and ReLU are fused unless rejected; kernels always
  /// compute tanh and sigmoid, and dumps show the reason.
  virtual std::optional<std::string> rejection_of_epilogue(const ir::Node&, EpilogueOp op) const {
    if (op == EpilogueOp::Bias || op == EpilogueOp::Relu) return std::nullopt;
    return "the library has no activations";
  }
};

}  // namespace kiln::codegen
