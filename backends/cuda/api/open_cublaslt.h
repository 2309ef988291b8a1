// Opens cuBLASLt and checks its version against the range that Kiln supports.
#pragma once

#include "backends/cuda/api/cublaslt_api.h"
#include "backends/cuda/api/open_compiler.h"

namespace kiln::cuda::api {

inline constexpr int kMinCublasLtMajor = 12;
inline constexpr int kMaxCublasLtMajor = 13;

struct CublasLtSettings {
  LibrarySearchPath search_path = CompilerSettings().search_path;
  /// As Driver::version: a driver cannot run kernels of a library with a larger major version.
  /// 0: no driver, no limit.
  int driver_version = 0;
};

/// The functions of an open cuBLASLt. Never closed, immutable, for any thread.
struct CublasLt : CublasLtFunctions {
  std::size_t version = 0;  // 130100: 13.1.0
  std::string path;

  /// "13.1.0".
  std::string version_text() const;
};

/// Throws sdk::Failure: NOT_FOUND without a library, UNIMPLEMENTED where functions are missing,
/// FAILED_PRECONDITION for a version out of range. Adds one message with path and version.
std::shared_ptr<const CublasLt> open_cublaslt(const CublasLtSettings& settings, Messages& messages);

}  // namespace kiln::cuda::api
