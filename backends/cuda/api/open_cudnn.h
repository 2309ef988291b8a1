// Opens cuDNN 9: libcudnn.so.9 and its sub-libraries, here called parts, such as
// libcudnn_graph.so.9, which it loads by their soname when they are used.
#pragma once

#include "backends/cuda/api/cudnn_api.h"
#include "backends/cuda/api/open_compiler.h"

namespace kiln::cuda::api {

inline constexpr int kCudnnMajor = 9;

struct CudnnSettings {
  LibrarySearchPath search_path = CompilerSettings().search_path;
  /// As Driver::version: a driver cannot run kernels of a library for a larger major version of
  /// CUDA. 0: no driver, no limit.
  int driver_version = 0;
};

/// The functions of an open cuDNN. Never closed, immutable, for any thread.
struct Cudnn : CudnnFunctions {
  std::size_t version = 0;  // 91900: 9.19.0
  std::string path;

  /// "9.19.0".
  std::string version_text() const;
  /// Whether it is used for attention, too: from 9.19 on, whose engines for all forms were found.
  /// Older ones may lack some, and 9.10.0 and 9.10.1 compute some attention wrongly, by NVIDIA's
  /// front end.
  bool has_attention() const { return version >= 91900; }
};

/// Opens the main library and its graph part, checks their versions, and checks that the files of
/// the other parts can be opened. Throws sdk::Failure: NOT_FOUND without a library or a part,
/// FAILED_PRECONDITION for a version out of range and for parts of several versions, UNIMPLEMENTED
/// where functions are missing. Adds one message with path and version.
std::shared_ptr<const Cudnn> find_cudnn(const CudnnSettings& settings, Messages& messages);

/// As find_cudnn(), and opens every part from the folder of the main library, since the dynamic
/// loader then resolves their sonames to these files. Maps several 100 MB.
std::shared_ptr<const Cudnn> open_cudnn(const CudnnSettings& settings, Messages& messages);

}  // namespace kiln::cuda::api
