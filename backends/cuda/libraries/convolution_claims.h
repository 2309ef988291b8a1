// Decides which convolutions cuDNN computes.
#pragma once

#include "backends/codegen/claims/library_claims.h"

namespace kiln::cuda {

/// Claims convolutions of float32 and float64 with one to three spatial axes, in all three roles.
/// Their bias and relu are left to kernels. The library may skip padding: products of its zeros and
/// filter elements that are infinite or NaN are then not part of the sums.
class ConvolutionClaims final : public codegen::LibraryClaims {
 public:
  std::optional<std::string> rejection_of_convolution(const ir::Node& node) const override;
  std::optional<std::string> rejection_of_epilogue(const ir::Node& node,
                                                   codegen::EpilogueOp op) const override;
};

}  // namespace kiln::cuda
