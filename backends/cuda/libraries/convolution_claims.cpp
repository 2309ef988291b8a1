// Rejects convolutions beyond the limits of cuDNN, each with a reason.
#include "backends/cuda/libraries/convolution_claims.h"

#include "core/ops/op.h"
#include "core/types/text.h"

namespace kiln::cuda {

std::optional<std::string> ConvolutionClaims::rejection_of_convolution(const ir::Node& node) const {
  constexpr std::size_t kMaxAxes = 3;
  const auto& attrs = node.as<ir::ConvAttrs>();
  const DType dtype = node.types[0].dtype;
  if (dtype == DType::Float16 || dtype == DType::BFloat16) {
    return text("convolutions of ", dtype, " are compiled as kernels, not run by cuDNN");
  }
  if (dtype != DType::Float32 && dtype != DType::Float64) {
    return text("cuDNN is used for float32 and float64 alone, not for ", dtype);
  }
  if (attrs.sizes.empty() || attrs.sizes.size() > kMaxAxes) {
    return text("cuDNN takes 1 to ", kMaxAxes, " spatial axes, not ", attrs.sizes.size());
  }
  if (!attrs.groups.is_static()) return text("the number of groups is not known: ", attrs.groups);
  return std::nullopt;
}

std::optional<std::string> ConvolutionClaims::rejection_of_epilogue(const ir::Node& node,
                                                                    codegen::EpilogueOp op) const {
  if (op == codegen::EpilogueOp::Bias) return "cuDNN has few engines that add a bias";
  if (op == codegen::EpilogueOp::Relu) return "it is not verified that cuDNN's relu keeps NaN";
  return LibraryClaims::rejection_of_epilogue(node, op);
}

}  // namespace kiln::cuda
