// Opens cuDNN in stages: library, files of its parts, functions, versions, parts.
#include "backends/cuda/api/open_cudnn.h"

#include "backends/abi/kiln_backend_sdk.h"
#include "backends/cuda/api/api_failure.h"
#include "backends/cuda/api/elf_file.h"
#include "backends/cuda/api/reported.h"

namespace kiln::cuda::api {
namespace {

constexpr const char* kLibrary = "libcudnn.so.9";
constexpr const char* kGraphPart = "libcudnn_graph.so.9";
/// In the order of their dependencies, after the graph part.
constexpr const char* kOtherParts[] = {
    "libcudnn_ops.so.9",
    "libcudnn_cnn.so.9",
    "libcudnn_heuristic.so.9",
    "libcudnn_engines_precompiled.so.9",
    "libcudnn_engines_runtime_compiled.so.9",
};

std::size_t checked_version(std::size_t version, const char* function, const char* quantity) {
  return checked_number(version, {"cuDNN", function, quantity}, 0, 9999999);
}

LibraryFile open_main(const CudnnSettings& settings) {
  LibraryFile file = open_library({kLibrary}, settings.search_path);
  if (file.handle == nullptr) {
    throw_not_opened(file, "cuDNN, NVIDIA's library of convolutions and attention,",
                     "was not found");
  }
  return file;
}

std::string path_of_part(const LibraryFile& file, const char* part) {
  return file.path.substr(0, file.path.rfind('/') + 1) + part;
}

/// `part`: the failed attempt. A part that exists is damaged, whatever folder it is in: it is
/// searched for beside the main library alone.
[[noreturn]] void throw_missing_part(const LibraryFile& file, LibraryFile part) {
  part.is_damaged = !attempts_text(part).ends_with(kNoSuchFile);
  throw_not_opened(part, "a part of cuDNN " + file.path, "cannot be used");
}

LibraryFile open_part(const LibraryFile& file, const char* name) {
  LibraryFile part = open_library_at(path_of_part(file, name));
  if (part.handle == nullptr) throw_missing_part(file, std::move(part));
  return part;
}

void check_files(const LibraryFile& file) {
  for (const char* name : kOtherParts) {
    const std::string path = path_of_part(file, name), reason = reason_not_loadable(path);
    if (reason.empty()) continue;
    LibraryFile part;
    part.attempts.push_back(path + ": " + reason);
    throw_missing_part(file, std::move(part));
  }
}

void resolve_functions(const LibraryFile& file, CudnnFunctions& functions) {
  std::string missing;
  resolve(file, "cudnnGetVersion", functions.get_version, missing);
  resolve(file, "cudnnGetCudartVersion", functions.get_cudart_version, missing);
  resolve(file, "cudnnGetErrorString", functions.get_error_string, missing);
  resolve(file, "cudnnGetLastErrorString", functions.get_last_error, missing);
#define KILN_CUDNN_RESOLVE(member, symbol, ...) resolve(file, #symbol, functions.member, missing);
  KILN_CUDNN_FUNCTIONS(KILN_CUDNN_RESOLVE)
#undef KILN_CUDNN_RESOLVE
  if (missing.empty()) return;
  throw sdk::Failure(KILN_CODE_UNIMPLEMENTED, "cuDNN " + file.path + " lacks " + missing);
}

void check_versions(const Cudnn& library, const LibraryFile& graph, const CudnnSettings& settings) {
  const auto mismatch = [&](const std::string& text) {
    return sdk::Failure(KILN_CODE_FAILED_PRECONDITION, "cuDNN " + library.path + text);
  };
  if (library.version / 10000 != kCudnnMajor) {
    throw mismatch(" has version " + library.version_text() + ", but Kiln needs major version " +
                   std::to_string(kCudnnMajor));
  }
  const auto own = reinterpret_cast<std::size_t (*)()>(graph.symbol("cudnnGetVersion"));
  const std::size_t of_graph = own == nullptr ? library.version : own();
  if (of_graph != library.version) {
    throw mismatch(" has version " + library.version_text() + ", but its part " + graph.path +
                   " has " + text_of_version(of_graph));
  }
  const auto cuda = static_cast<int>(
      checked_version(library.get_cudart_version(), "cudnnGetCudartVersion", "its CUDA version"));
  if (settings.driver_version == 0 || cuda / 1000 <= settings.driver_version / 1000) return;
  throw mismatch(" is for CUDA " + version_text(cuda) + "; a driver for CUDA " +
                 version_text(settings.driver_version) +
                 " cannot run libraries for newer major versions");
}

/// Checks that all parts have one version. The dynamic loader resolves parts by their soname, so it
/// would use the parts of another cuDNN that the process has already opened.
void check_parts(const Cudnn& library) {
  const struct {
    CudnnStatus (*check)();
    const char* name;
  } rows[] = {
      {library.check_graph, "graph"}, {library.check_ops, "ops"}, {library.check_cnn, "cnn"}};
  for (const auto& row : rows) {
    const CudnnStatus status = row.check();
    if (status == CudnnStatus::Success) continue;
    throw sdk::Failure(KILN_CODE_FAILED_PRECONDITION,
                       "parts of cuDNN " + library.path + " have several versions: its part " +
                           row.name + " reports " + text_of(library, status));
  }
}

/// Opens the main library and its graph part.
std::shared_ptr<Cudnn> open_first(const CudnnSettings& settings, LibraryFile& file) {
  file = open_main(settings);
  const LibraryFile graph = open_part(file, kGraphPart);
  check_files(file);
  auto library = std::make_shared<Cudnn>();
  library->path = file.path;
  resolve_functions(file, *library);
  library->version = checked_version(library->get_version(), "cudnnGetVersion", "its version");
  check_versions(*library, graph, settings);
  return library;
}

std::string message_of(const Cudnn& library) {
  const std::string used_for =
      library.has_attention() ? "convolutions, attention of halves" : "convolutions";
  return used_for + ": cuDNN " + library.version_text() + ", " + library.path;
}

}  // namespace

std::string Cudnn::version_text() const { return text_of_version(version); }

std::shared_ptr<const Cudnn> find_cudnn(const CudnnSettings& settings, Messages& messages) {
  LibraryFile file;
  std::shared_ptr<const Cudnn> library = open_first(settings, file);
  messages.push_back(message_of(*library));
  return library;
}

std::shared_ptr<const Cudnn> open_cudnn(const CudnnSettings& settings, Messages& messages) {
  LibraryFile file;
  std::shared_ptr<const Cudnn> library = open_first(settings, file);
  for (const char* name : kOtherParts) open_part(file, name);
  check_parts(*library);
  messages.push_back(message_of(*library));
  return library;
}

}  // namespace kiln::cuda::api
