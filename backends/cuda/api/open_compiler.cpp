// Opens NVRTC in stages: library, functions, version.
#include "backends/cuda/api/open_compiler.h"

#include "backends/abi/kiln_backend_sdk.h"
#include "backends/cuda/api/api_failure.h"
#include "backends/cuda/api/reported.h"

#include <algorithm>

namespace kiln::cuda::api {
namespace {

int max_major(const CompilerSettings& settings) {
  if (settings.driver_version == 0) return kMaxCompilerMajor;
  return std::min(kMaxCompilerMajor, settings.driver_version / 1000);
}

/// "; a driver for CUDA 12.4 cannot run code of NVRTC 13 or newer"; empty: it can run all versions.
std::string driver_limit(const CompilerSettings& settings) {
  if (max_major(settings) == kMaxCompilerMajor) return "";
  return "; a driver for CUDA " + version_text(settings.driver_version) +
         " cannot run code of NVRTC " + std::to_string(max_major(settings) + 1) + " or newer";
}

LibraryFile open_library_of(const CompilerSettings& settings) {
  std::vector<std::string> names;
  for (int major = max_major(settings); major >= kMinCompilerMajor; --major) {
    names.push_back("libnvrtc.so." + std::to_string(major));
  }
  LibraryFile file = open_library(names, settings.search_path);
  if (file.handle == nullptr) {
    throw_not_opened(file, "NVRTC, the compiler of CUDA,", "was not found", driver_limit(settings));
  }
  return file;
}

NvrtcFunctions resolve_functions(const LibraryFile& file) {
  NvrtcFunctions functions;
  std::string missing;
#define KILN_NVRTC_RESOLVE(member, symbol, ...) resolve(file, #symbol, functions.member, missing);
  KILN_NVRTC_FUNCTIONS(KILN_NVRTC_RESOLVE)
#undef KILN_NVRTC_RESOLVE
  resolve(file, "nvrtcGetErrorString", functions.get_error_string, missing);
  if (!missing.empty()) {
    throw sdk::Failure(KILN_CODE_UNIMPLEMENTED, "NVRTC " + file.path + " lacks " + missing);
  }
  return functions;
}

void check_version(const LibraryFile& file, const NvrtcFunctions& functions,
                   const CompilerSettings& settings) {
  int major = 0, minor = 0;
  const NvrtcStatus status = functions.version(&major, &minor);
  if (status != NvrtcStatus::Success) throw failure(functions, status, "read NVRTC's version");
  checked_number(minor, {"NVRTC", "nvrtcVersion", "its minor version"}, 0, 999);
  if (major >= kMinCompilerMajor && major <= max_major(settings)) return;
  throw sdk::Failure(KILN_CODE_FAILED_PRECONDITION,
                     "NVRTC " + file.path + " has version " + std::to_string(major) + "." +
                         std::to_string(minor) + ", but Kiln needs major version " +
                         std::to_string(kMinCompilerMajor) + " to " +
                         std::to_string(max_major(settings)) + driver_limit(settings));
}

}  // namespace

std::shared_ptr<const Compiler> open_compiler(const CompilerSettings& settings,
                                              Messages& messages) {
  if (max_major(settings) < kMinCompilerMajor) {
    throw sdk::Failure(KILN_CODE_FAILED_PRECONDITION, "Kiln needs NVRTC " +
                                                          std::to_string(kMinCompilerMajor) +
                                                          " or newer" + driver_limit(settings));
  }
  const LibraryFile file = open_library_of(settings);
  const NvrtcFunctions functions = resolve_functions(file);
  check_version(file, functions, settings);
  const auto compiler =
      std::make_shared<const Compiler>(functions, file.path, settings.search_path.configured);
  std::string architectures;
  for (const int one : compiler->architectures()) architectures += " sm_" + std::to_string(one);
  messages.push_back("compiler: NVRTC " + compiler->version_text() + ", " + file.path + ", for" +
                     architectures);
  return compiler;
}

}  // namespace kiln::cuda::api
