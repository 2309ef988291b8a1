// Rejects all matmuls, so that they become kernels, if the library is missing, old or incomplete.
#include "backends/cuda/libraries/open_matmuls.h"

namespace kiln::cuda {

Matmuls open_matmuls(const api::CublasLtSettings& settings,
                     const std::shared_ptr<const Device>& device, bool tf32, const sdk::Host& host,
                     api::Messages& messages) {
  std::shared_ptr<const api::CublasLt> library;
  try {
    library = api::open_cublaslt(settings, messages);
  } catch (const api::DamagedLibrary& failure) {
    host.log(KILN_LOG_WARNING, "cuda", std::string("matmuls: kernels; ") + failure.what());
    return {nullptr, std::make_shared<MissingMatmuls>(failure.what())};
  } catch (const sdk::Failure& failure) {
    messages.push_back(std::string("matmuls: kernels; ") + failure.what());
    return {nullptr, std::make_shared<MissingMatmuls>(failure.what())};
  }
  return {std::make_shared<const MatmulLibrary>(std::move(library), device, tf32),
          std::make_shared<MatmulClaims>()};
}

}  // namespace kiln::cuda
