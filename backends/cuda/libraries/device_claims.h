// Combines the claims of cuBLASLt, of cuDNN, and of the kernels of attention, which are for
// float32.
#pragma once

#include "backends/codegen/claims/library_claims.h"
#include "backends/cuda/attention/attention_claims.h"
#include "core/ops/halves.h"
#include "core/ops/op.h"

#include <memory>

namespace kiln::cuda {

/// Forwards each query to the claims of the library for the node's op. REQUIRES: neither is null.
class DeviceClaims final : public codegen::LibraryClaims {
 public:
  DeviceClaims(std::shared_ptr<const codegen::LibraryClaims> matmuls,
               std::shared_ptr<const codegen::LibraryClaims> cudnn)
      : matmuls_(std::move(matmuls)), cudnn_(std::move(cudnn)) {}

  std::optional<std::string> rejection_of_matmul(
      const codegen::MatmulRequest& matmul) const override {
    return matmuls_->rejection_of_matmul(matmul);
  }
  std::optional<std::string> rejection_of_convolution(const ir::Node& node) const override {
    return cudnn_->rejection_of_convolution(node);
  }
  std::optional<std::string> rejection_of_attention(const ir::Node& node) const override {
    if (ir::is_half(node.operands[0].dtype())) return cudnn_->rejection_of_attention(node);
    return rejection_of_attention_kernels(node);
  }
  std::optional<std::string> rejection_of_epilogue(const ir::Node& node,
                                                   codegen::EpilogueOp op) const override {
    const auto& claims = node.op == ir::Op::Conv ? cudnn_ : matmuls_;
    return claims->rejection_of_epilogue(node, op);
  }
  bool requires_symmetric_padding() const override { return cudnn_->requires_symmetric_padding(); }
  bool takes_filters_first() const override { return cudnn_->takes_filters_first(); }

 private:
  std::shared_ptr<const codegen::LibraryClaims> matmuls_, cudnn_;
};

}  // namespace kiln::cuda
