// Opens cuBLASLt for an instance. It is optional: without it, matmuls become kernels.
#pragma once

#include "backends/cuda/libraries/cublaslt.h"
#include "backends/cuda/libraries/matmul_claims.h"

namespace kiln::cuda {

struct Matmuls {
  std::shared_ptr<const MatmulLibrary> library;  // null: matmuls become kernels
  std::shared_ptr<const codegen::LibraryClaims> claims;
};

/// Adds one line to `messages`: the library, or the reason why it is missing; the claims then
/// reject every matmul with that reason. A damaged library is a warning to the host. Throws
/// sdk::Failure if the library opens but cannot use the device. REQUIRES: a ScopedContext of the
/// thread.
Matmuls open_matmuls(const api::CublasLtSettings& settings,
                     const std::shared_ptr<const Device>& device, bool tf32, const sdk::Host& host,
                     api::Messages& messages);

}  // namespace kiln::cuda
