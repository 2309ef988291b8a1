// Opens NCCL in stages: library, functions, version.
#include "backends/cuda/api/open_nccl.h"

#include "backends/abi/kiln_backend_sdk.h"
#include "backends/cuda/api/api_failure.h"
#include "backends/cuda/api/reported.h"
#include "core/types/at.h"

namespace kiln::cuda::api {
namespace {

constexpr const char* kLibrary = "libnccl.so.2";

void resolve_functions(const LibraryFile& file, NcclFunctions& functions) {
  std::string missing;
#define KILN_NCCL_RESOLVE(member, symbol, ...) resolve(file, #symbol, functions.member, missing);
  KILN_NCCL_FUNCTIONS(KILN_NCCL_RESOLVE)
#undef KILN_NCCL_RESOLVE
  resolve(file, "ncclGetErrorString", functions.get_error_string, missing);
  resolve(file, "ncclGetLastError", functions.get_last_error, missing);
  if (missing.empty()) return;
  throw sdk::Failure(KILN_CODE_UNIMPLEMENTED, "NCCL " + file.path + " lacks " + missing);
}

int version_of(const Nccl& library) {
  int version = 0;
  const NcclStatus status = library.get_version(&version);
  if (status != NcclStatus::Success) throw failure(library, status, "read the version of NCCL");
  return checked_number(version, {"NCCL", "ncclGetVersion", "its version"}, 0, 9999999);
}

}  // namespace

std::string Nccl::version_text() const { return text_of_version(at(version)); }

std::shared_ptr<const Nccl> open_nccl(const NcclSettings& settings, Messages& messages) {
  const LibraryFile file = open_library({kLibrary}, settings.search_path);
  if (file.handle == nullptr) {
    throw_not_opened(file, "NCCL, NVIDIA's library of collectives,", "was not found");
  }
  auto library = std::make_shared<Nccl>();
  library->path = file.path;
  resolve_functions(file, *library);
  library->version = version_of(*library);
  if (library->version < kMinNcclVersion) {
    throw sdk::Failure(KILN_CODE_FAILED_PRECONDITION,
                       "NCCL " + library->path + " has version " + library->version_text() +
                           ", but Kiln needs " + text_of_version(at(kMinNcclVersion)) +
                           " or newer");
  }
  messages.push_back("collectives: NCCL " + library->version_text() + ", " + library->path);
  return library;
}

}  // namespace kiln::cuda::api
