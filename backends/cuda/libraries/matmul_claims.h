// Decides which matmuls cuBLASLt computes.
#pragma once

#include "backends/codegen/claims/library_claims.h"

namespace kiln::cuda {

/// Claims matmuls of floats whose batch axes merge into one, and a bias after them; those of
/// float16 and bfloat16 add in float32 and round once. Rejects outer products (K = 1) and dot
/// products (M = N = 1): as kernels they can be fused with their producers and consumers.
class MatmulClaims final : public codegen::LibraryClaims {
 public:
  std::optional<std::string> rejection_of_matmul(
      const codegen::MatmulRequest& matmul) const override;
  std::optional<std::string> rejection_of_epilogue(const ir::Node& node,
                                                   codegen::EpilogueOp op) const override;
};

/// Rejects every matmul: the library could not be opened.
class MissingMatmuls final : public codegen::LibraryClaims {
 public:
  /// `reason`: the loader's text.
  explicit MissingMatmuls(std::string reason) : reason_(std::move(reason)) {}

  std::optional<std::string> rejection_of_matmul(const codegen::MatmulRequest&) const override {
    return "missing library: " + reason_;
  }

 private:
  std::string reason_;
};

}  // namespace kiln::cuda
