// Without a library, or with an old or incomplete one, matmuls are compiled as kernels.
#include "backends/cuda/libraries/open_matmuls.h"

namespace kiln::cuda {

Matmuls open_matmuls(const api::CublasLtSettings& settings,
                     const std::shared_ptr<const Device>& device, bool tf32, api::Facts& facts) {
  std::shared_ptr<const api::CublasLt> library;
  try {
    library = api::open_cublaslt(settings, facts);
  } catch (const sdk::Failure& failure) {
    facts.push_back(std::string("matmuls: kernels; ") + failure.what());
    return {nullptr, std::make_shared<MissingMatmuls>(failure.what())};
  }
  return {std::make_shared<const MatmulLibrary>(std::move(library), device, tf32),
          std::make_shared<MatmulClaims>()};
}

}  // namespace kiln::cuda
