// Opens cuBLASLt in stages: library, functions, version.
#include "backends/cuda/api/open_cublaslt.h"

#include "backends/abi/kiln_backend_sdk.h"
#include "backends/cuda/api/reported.h"

#include <algorithm>

namespace kiln::cuda::api {
namespace {

int max_major(const CublasLtSettings& settings) {
  if (settings.driver_version == 0) return kMaxCublasLtMajor;
  return std::min(kMaxCublasLtMajor, settings.driver_version / 1000);
}

/// "; a driver for CUDA 12.4 cannot run cuBLASLt 13 or newer"; empty: it can run all versions.
std::string driver_limit(const CublasLtSettings& settings) {
  if (max_major(settings) == kMaxCublasLtMajor) return "";
  return "; a driver for CUDA " + version_text(settings.driver_version) + " cannot run cuBLASLt " +
         std::to_string(max_major(settings) + 1) + " or newer";
}

LibraryFile open_library_of(const CublasLtSettings& settings) {
  std::vector<std::string> names;
  for (int major = max_major(settings); major >= kMinCublasLtMajor; --major) {
    names.push_back("libcublasLt.so." + std::to_string(major));
  }
  LibraryFile file = open_library(names, settings.search_path);
  if (file.handle == nullptr) {
    throw_not_opened(file, "cuBLASLt, NVIDIA's library of matmuls,", "was not found",
                     driver_limit(settings));
  }
  return file;
}

void resolve_functions(const LibraryFile& file, CublasLtFunctions& functions) {
  std::string missing;
  resolve(file, "cublasLtGetVersion", functions.get_version, missing);
  resolve(file, "cublasLtGetStatusName", functions.get_status_name, missing);
#define KILN_CUBLASLT_RESOLVE(member, symbol, ...) \
  resolve(file, #symbol, functions.member, missing);
  KILN_CUBLASLT_FUNCTIONS(KILN_CUBLASLT_RESOLVE)
#undef KILN_CUBLASLT_RESOLVE
  if (missing.empty()) return;
  throw sdk::Failure(KILN_CODE_UNIMPLEMENTED, "cuBLASLt " + file.path + " lacks " + missing);
}

void check_version(const CublasLt& library, const CublasLtSettings& settings) {
  const int major = static_cast<int>(library.version / 10000);
  if (major >= kMinCublasLtMajor && major <= max_major(settings)) return;
  throw sdk::Failure(KILN_CODE_FAILED_PRECONDITION,
                     "cuBLASLt " + library.path + " has version " + library.version_text() +
                         ", but Kiln needs major version " + std::to_string(kMinCublasLtMajor) +
                         " to " + std::to_string(max_major(settings)) + driver_limit(settings));
}

}  // namespace

std::string CublasLt::version_text() const { return text_of_version(version); }

std::shared_ptr<const CublasLt> open_cublaslt(const CublasLtSettings& settings,
                                              Messages& messages) {
  if (max_major(settings) < kMinCublasLtMajor) {
    throw sdk::Failure(KILN_CODE_FAILED_PRECONDITION, "Kiln needs cuBLASLt " +
                                                          std::to_string(kMinCublasLtMajor) +
                                                          " or newer" + driver_limit(settings));
  }
  const LibraryFile file = open_library_of(settings);
  const auto library = std::make_shared<CublasLt>();
  library->path = file.path;
  resolve_functions(file, *library);
  library->version = checked_number(library->get_version(),
                                    {"cuBLASLt", "cublasLtGetVersion", "its version"}, 0, 9999999);
  check_version(*library, settings);
  messages.push_back("matmuls: cuBLASLt " + library->version_text() + ", " + file.path);
  return library;
}

}  // namespace kiln::cuda::api
