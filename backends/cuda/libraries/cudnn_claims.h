// Decides which convolutions and which attention cuDNN computes.
#pragma once

#include "backends/codegen/claims/library_claims.h"
#include "backends/cuda/libraries/attention_description.h"

namespace kiln::cuda {

/// Claims convolutions of floats with one to three spatial axes: forward, backward data and
/// backward weights; of float16 and bfloat16, those of one group whose channels and filters are
/// multiples of 8. Kernels compute their bias and ReLU. The library may skip padding: a filter
/// element that is infinite or NaN then adds no NaN where it meets a padded zero. Claims attention
/// of float16 and bfloat16 (attention_description.h).
class CudnnClaims final : public codegen::LibraryClaims {
 public:
  std::optional<std::string> rejection_of_convolution(const ir::Node& node) const override;
  /// REQUIRES: of float16 or bfloat16.
  std::optional<std::string> rejection_of_attention(const ir::Node& node) const override {
    return rejection_of_half_attention(node);
  }
  std::optional<std::string> rejection_of_epilogue(const ir::Node& node,
                                                   codegen::EpilogueOp op) const override;
  bool requires_symmetric_padding() const override { return true; }
  bool takes_filters_first() const override { return true; }
};

}  // namespace kiln::cuda
