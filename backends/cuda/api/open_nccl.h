// Opens NCCL: libnccl.so.2.
#pragma once

#include "backends/cuda/api/nccl_api.h"
#include "backends/cuda/api/open_compiler.h"

namespace kiln::cuda::api {

/// The first version whose communicators work without blocking in every call.
inline constexpr int kMinNcclVersion = 21800;

struct NcclSettings {
  LibrarySearchPath search_path = CompilerSettings().search_path;
};

/// The functions of an open NCCL. Never closed, immutable, for any thread.
struct Nccl : NcclFunctions {
  int version = 0;  // 22809: 2.28.9
  std::string path;

  /// "2.28.9".
  std::string version_text() const;
};

/// Opens the library and checks its version. Throws sdk::Failure: NOT_FOUND without a library,
/// FAILED_PRECONDITION for a version out of range, UNIMPLEMENTED where functions are missing. Adds
/// one message with path and version.
std::shared_ptr<const Nccl> open_nccl(const NcclSettings& settings, Messages& messages);

}  // namespace kiln::cuda::api
