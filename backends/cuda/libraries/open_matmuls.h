// Opens cuBLASLt for an instance, which works without it, too.
#pragma once

#include "backends/cuda/libraries/cublaslt.h"
#include "backends/cuda/libraries/matmul_claims.h"

namespace kiln::cuda {

struct Matmuls {
  std::shared_ptr<const MatmulLibrary> library;  // null: matmuls become kernels
  std::shared_ptr<const codegen::LibraryClaims> claims;
};

/// Adds one fact: the library, or the reason why there is none; the claims then reject every
/// matmul with that reason. Throws sdk::Failure if the library opens but cannot use the device.
/// REQUIRES: a ScopedContext of the thread.
Matmuls open_matmuls(const api::CublasLtSettings& settings,
                     const std::shared_ptr<const Device>& device, bool tf32, api::Facts& facts);

}  // namespace kiln::cuda
