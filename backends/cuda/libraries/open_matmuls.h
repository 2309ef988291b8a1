// The matmuls of an instance: those of cuBLASLt where it can be opened.
#pragma once

#include "backends/cuda/libraries/cublaslt.h"
#include "backends/cuda/libraries/matmul_claims.h"

namespace kiln::cuda {

struct Matmuls {
  std::shared_ptr<const MatmulLibrary> library;  // null: matmuls become kernels
  std::shared_ptr<const codegen::LibraryClaims> claims;
};

/// Adds one fact: the library, or the reason why there is none, which the claims have, too. Throws
/// sdk::Failure where the library cannot use the device. REQUIRES: a ScopedContext of the thread.
Matmuls open_matmuls(const api::CublasLtSettings& settings,
                     const std::shared_ptr<const Device>& device, bool tf32, api::Facts& facts);

}  // namespace kiln::cuda
